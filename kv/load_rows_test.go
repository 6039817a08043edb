package kv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/load"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// edgeLoad is a load of nodes 0 to 99, with text ids or numbers.
func edgeLoad(t *testing.T, dir, prefix string, opt LoadOptions) *Loader {
	t.Helper()
	opt.MemoryBudget = minMemoryBudget
	l := must.Get(NewLoader(t.Context(), dir, opt))(t)
	for i := range 100 {
		must.Do(t, l.AddNode(Node{ID: fmt.Sprint(prefix, i)}))
	}
	return l
}

// TestRowErrorsEndTheLoad ignores an error of each kind of row, and goes on: Commit fails with the error, and there
// is no store.
func TestRowErrorsEndTheLoad(t *testing.T) {
	for name, c := range map[string]struct {
		opt  LoadOptions
		want error
		add  func(l *Loader) error
	}{
		"an invalid node": {LoadOptions{}, ErrInvalidID, func(l *Loader) error { return l.AddNode(Node{}) }},
		"a node after edges": {LoadOptions{}, load.ErrNodesFirst, func(l *Loader) error {
			return errors.Join(l.AddEdge("p1", "p2", 1), l.AddNode(Node{ID: "late"}))
		}},
		"a weight": {LoadOptions{}, ErrInvalidEdge, func(l *Loader) error {
			return l.EdgeWriter().AddWeighted("p1", "p2", 2, 7)
		}},
		"an arc's weight": {LoadOptions{Weighted: true, Directed: true}, ErrInvalidEdge, func(l *Loader) error {
			return l.EdgeWriter().AddWeighted("p1", "p2", -1, 7)
		}},
		"a weight of zero": {LoadOptions{Weighted: true}, ErrInvalidEdge, func(l *Loader) error {
			return l.EdgeWriter().AddWeighted("p1", "p2", 0, 7)
		}},
	} {
		parent := t.TempDir()
		l := edgeLoad(t, filepath.Join(parent, "graph"), "p", c.opt)
		if err := c.add(l); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if err := l.AddEdge("p3", "p4", 8); err != nil {
			t.Errorf("%s: the row after it: %v", name, err)
		}
		if _, err := l.Commit(t.Context(), nil); !errors.Is(err, c.want) {
			t.Errorf("%s: Commit: got %v, want %v", name, err, c.want)
		}
		emptyAfter(t, parent, name)
	}
}

// TestRowErrorsEndTheBulk ignores an error of each kind of row of a Bulk.
func TestRowErrorsEndTheBulk(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 10)
	for name, put := range map[string]func(b *Bulk) error{
		"a value": func(b *Bulk) error {
			w := must.Get(b.Column("c", KindInt))(t)
			return w.Put(1, ValueOf("text"))
		},
		"a node": func(b *Bulk) error {
			w := must.Get(b.Column("c", KindInt))(t)
			return w.Put(10, ValueOf(1))
		},
		"classes for ints": func(b *Bulk) error {
			w := must.Get(b.Column("c", KindInt))(t)
			return w.PutClasses(0, []Class{0})
		},
		"classes": func(b *Bulk) error {
			w := must.Get(b.Column("c", KindClass))(t)
			return w.PutClasses(0, []Class{77})
		},
		"a row": func(b *Bulk) error {
			w := must.Get(b.Matrix("m", []string{"a"}))(t)
			return w.Put(0, []float32{1, 2})
		},
		"an entry": func(b *Bulk) error {
			put := must.Get(b.Space("s"))(t)
			return errors.Join(put([]byte("b"), nil), put([]byte("a"), nil))
		},
	} {
		b := must.Get(s.Bulk(context.Background()))(t)
		want := put(b)
		if want == nil {
			t.Fatalf("%s: got no error", name)
		}
		if err := b.Commit(nil); err == nil || err.Error() != want.Error() {
			t.Errorf("%s: Commit: got %v, want %v", name, err, want)
		}
		b.Abort()
		view(t, s, func(tx *Tx) error {
			if _, there := tx.Column("c"); there || len(tx.Matrices()) > 0 {
				t.Errorf("%s: something was committed", name)
			}
			return nil
		})
	}
}

// TestLastBlocks ends a column and a matrix of as many nodes as there may be. Their last blocks end below the number
// after which numbers of nodes begin again.
func TestLastBlocks(t *testing.T) {
	s := newStore(t, Options{})
	b := must.Get(s.Bulk(context.Background()))(t)
	defer b.Abort()
	const rows = record.MaxNodes
	column := must.Get(b.Column("c", KindInt))(t)
	matrix := must.Get(b.Matrix("m", []string{"a"}))(t)
	column.entry.Rows, matrix.entry.Rows = rows, rows
	column.rows, matrix.rows = rows, rows
	column.block = make([]Value, codec.ColumnRows)
	column.first = (rows - 1) / codec.ColumnRows * codec.ColumnRows
	if err := column.finish(); err != nil || b.batch.Records != 1 {
		t.Errorf("column: %d records (%v), want 1", b.batch.Records, err)
	}
	height := NodeID(matrix.entry.BlockRows())
	matrix.block = codec.Window{Values: make([]float32, height), Stride: 1}
	matrix.first = (rows - height) / height * height
	if err := matrix.finish(); err != nil || b.batch.Records != 2 {
		t.Errorf("matrix: %d records (%v), want 1 more", b.batch.Records, err)
	}
}

// TestBulkWhileLoading writes into the store of a Loader, in any order, gives one Bulk up, and reads the others.
func TestBulkWhileLoading(t *testing.T) {
	const n = 5000
	dir := filepath.Join(t.TempDir(), "graph")
	l := must.Get(NewLoader(t.Context(), dir, LoadOptions{MemoryBudget: minMemoryBudget}))(t)
	for v := range n {
		must.Do(t, l.AddNode(Node{ID: fmt.Sprint(v)}))
	}
	write := func(s *Store, times float32, end func(b *Bulk) error) error {
		b := must.Get(s.Bulk(context.Background()))(t)
		defer b.Abort()
		x := must.Get(b.Column("x", KindFloat))(t)
		m := must.Get(b.Matrix("m", []string{"a", "b"}))(t)
		x.Sort()
		m.Sort()
		for _, v := range rand.New(rand.NewPCG(1, 1)).Perm(n) {
			must.Do(t, x.Put(NodeID(v), ValueOf(float64(v)*float64(times))))
			must.Do(t, m.Put(NodeID(v), []float32{float32(v), times}))
		}
		return end(b)
	}
	must.Get(l.Commit(t.Context(), func(s *Store) error {
		for times := range 3 {
			must.Do(t, write(s, float32(times), func(b *Bulk) error { return b.Commit(nil) }))
		}
		return write(s, 9, func(*Bulk) error { return nil })
	}))(t)
	if left := fileNames(t, dir, "*.tmp"); len(left) > 0 {
		t.Errorf("%v stays behind", left)
	}
	s := openTest(t, dir)
	checkClean(t, s)
	view(t, s, func(tx *Tx) error {
		m := must.Get(tx.Matrix("m"))(t)
		rows := make([]float32, 2*n)
		must.Do(t, m.Read(Range{First: 0, End: n}, 0, 2, rows))
		for v := range NodeID(n) {
			x := must.Get(tx.Value(v, "x"))(t)
			if x.Float() != 2*float64(v) || rows[2*v] != float32(v) || rows[2*v+1] != 2 {
				t.Fatalf("node %d: got %v and %v, want %d and [%d 2]", v, x, rows[2*v:2*v+2], 2*v, v)
			}
		}
		return nil
	})
}

// TestLoadOfManyColumns loads many columns with little memory. The load holds no more than its budget beside what it
// has without columns, and the store has every value.
func TestLoadOfManyColumns(t *testing.T) {
	const nodes, columns, budget = 5000, 300, 8 << 20
	var properties []Column
	for i := range columns {
		kind := []Kind{KindString, KindInt, KindFloat, KindClass}[i%4]
		properties = append(properties, Column{Name: fmt.Sprintf("c%d", i), Kind: kind})
	}
	value := func(v, i int) Value {
		if (v+i)%7 == 0 {
			return Value{}
		}
		switch n := v*i%1000 + i; properties[i].Kind {
		case KindInt:
			return ValueOf(int64(n))
		case KindFloat:
			return ValueOf(float64(n) / 8)
		case KindClass:
			return ValueOf(fmt.Sprint("class ", n%3))
		default:
			return ValueOf(fmt.Sprint("text ", n))
		}
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, most := heap(), int64(0)
	loader := must.Get(NewLoader(t.Context(), filepath.Join(t.TempDir(), "graph"), LoadOptions{
		MemoryBudget: budget, Properties: properties,
		Progress: func(stage string, _, _ int64) {
			if stage == load.StageColumns {
				most = max(most, heap()-before)
			}
		},
	}))(t)
	defer func() { must.Do(t, loader.Abort()) }()
	for v := range nodes {
		values := make([]Value, columns-v%2) // the last is missing in every other node
		for i := range values {
			values[i] = value(v, i)
		}
		must.Do(t, loader.AddNode(Node{ID: fmt.Sprint(v), Label: "a", Values: values}))
	}
	must.Get(loader.Commit(t.Context(), func(s *Store) error {
		return s.View(func(tx *Tx) error {
			for i, property := range properties {
				reader := must.Get(tx.Reader(property.Name))(t)
				for v := range nodes {
					want := value(v, i)
					if i == columns-1 && v%2 == 1 {
						want = Value{}
					}
					if got, err := reader.At(NodeID(v)); err != nil || got != want {
						return fmt.Errorf("column %d of node %d: got %v, %v, want %v", i, v, got, err, want)
					}
				}
			}
			return nil
		})
	}))(t)
	const store = 13 << 20 // of a store that is opened
	if most > store+budget {
		t.Errorf("got %d bytes on the heap, want at most %d for a store and %d of the budget", most, store, budget)
	}
}
