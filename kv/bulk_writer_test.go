package kv

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func beginBulk(t *testing.T, s *Store) *Bulk {
	t.Helper()
	return must.Get(s.Bulk())(t)
}

// TestAbortByMany is for the race detector.
func TestAbortByMany(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 3)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 5 {
				b, err := s.Bulk()
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := b.Column("x", KindInt); err != nil {
					t.Error(err)
				}
				b.Abort()
			}
		})
	}
	group.Wait()
	checkNoGarbage(t, s)
}

// TestRowsOutOfOrderSurviveACrash puts rows of which the last come first, and crashes.
func TestRowsOutOfOrderSurviveACrash(t *testing.T) {
	t.Parallel()
	const nodes = 3000
	s := newStore(t, Options{})
	addNodes(t, s, nodes)
	b := beginBulk(t, s)
	column, err := b.Column("x", KindInt)
	matrix, failed := b.Matrix("m", []string{"a", "b"}, MatrixEncoding{})
	must.Do(t, errors.Join(err, failed))
	column.Sort()
	matrix.Sort()
	for i := range NodeID(nodes) {
		v := (i + nodes/3) % nodes
		must.Do(t, errors.Join(column.Put(v, IntValue(int64(v))), matrix.Put(v, []float32{1, float32(v)})))
	}
	must.Do(t, b.Commit(nil))
	for name, store := range map[string]*Store{"committed": s, "replayed": openStore(t, copyStore(t, s.Dir()), Options{})} {
		view(t, store, func(tx *Tx) error {
			m := must.Get(tx.Matrix("m"))(t)
			rows := make([]float32, 2*nodes)
			must.Do(t, m.Read(Range{First: 0, End: nodes}, 0, 2, rows))
			for v := range NodeID(nodes) {
				got, err := tx.Value(v, "x")
				if err != nil || got != IntValue(int64(v)) || rows[2*v] != 1 || rows[2*v+1] != float32(v) {
					return fmt.Errorf("%s: node %d: got %v, %v (%v)", name, v, got, rows[2*v:2*v+2], err)
				}
			}
			return nil
		})
		checkNoGarbage(t, store)
		checkClean(t, store)
	}
}

func TestCloseWithOpenBulk(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 3)
	for _, end := range []func(b *Bulk){(*Bulk).Abort, func(b *Bulk) {
		if err := b.Commit(nil); err != nil {
			t.Error(err)
		}
	}} {
		b := beginBulk(t, s)
		if err := s.Close(); !errors.Is(err, ErrBusy) {
			t.Fatalf("Close while a Bulk is open: got %v, want ErrBusy", err)
		}
		w, err := b.Column("x", KindInt)
		if err != nil {
			t.Fatalf("the Bulk after Close was refused: %v", err)
		}
		must.Do(t, w.Put(1, IntValue(2)))
		end(b)
	}
	view(t, s, func(tx *Tx) error {
		if got, err := tx.Value(1, "x"); err != nil || got != IntValue(2) {
			t.Errorf("the value committed: got %v, %v; want 2", got, err)
		}
		return nil
	})
	if err := s.Close(); err != nil {
		t.Errorf("Close after the Bulk: got %v", err)
	}
}

func TestWaitingForAWriterEndsWithItsContext(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	for name, wait := range map[string]func() error{
		"Check":   func() error { return s.Check(ctx, nil, func(p Problem) { t.Error(p) }) },
		"Compact": func() error { return s.Compact(ctx, nil) },
	} {
		update(t, s, func(*Tx) error {
			if err := wait(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s in an Update: got %v, want DeadlineExceeded", name, err)
			}
			return nil
		})
	}
}

// TestCheckLetsWritersThrough updates the store from within the report of a Check.
func TestCheckLetsWritersThrough(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 3)
	changeCatalog(t, s, func(c *catalog) { c.EdgeDeltas = -1 })
	reports := 0
	err := s.Check(t.Context(), nil, func(Problem) {
		reports++
		update(t, s, func(tx *Tx) error { return tx.Documents("runs").Put(fmt.Sprint(reports), reports) })
	})
	if err != nil || reports == 0 {
		t.Errorf("got %v after %d problems, want some and no error", err, reports)
	}
	changeCatalog(t, s, func(c *catalog) { c.EdgeDeltas = 0 })
}

func TestGenerationsRunOut(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 3)
	changeCatalog(t, s, func(c *catalog) { c.Next = math.MaxUint32 - 1 })
	b := beginBulk(t, s)
	_, err := b.Column("one", KindInt)
	if _, err2 := b.Column("another", KindInt); err != nil || !errors.Is(err2, errGenerations) {
		t.Errorf("Bulk: got %v and %v; want the generations used up with the second column", err, err2)
	}
	b.Abort()
	add := func(name string) func(tx *Tx) error {
		return func(tx *Tx) error { return tx.AddColumn(name, KindInt) }
	}
	update(t, s, add("last"))
	for name, write := range map[string]func(tx *Tx) error{
		"AddColumn":    add("beyond"),
		"CreateMatrix": func(tx *Tx) error { return tx.CreateMatrix("m", nil) },
		"Space.Put":    func(tx *Tx) error { return tx.Space("s").Put([]byte("k"), nil) },
		"AddNode":      func(tx *Tx) error { _, err := tx.AddNode(Node{ID: "x"}); return err },
		"AddEdge":      func(tx *Tx) error { return tx.AddEdge(0, 1) },
	} {
		if err := s.Update(write); !errors.Is(err, errGenerations) {
			t.Errorf("%s: got %v, want the generations used up", name, err)
		}
	}
}

// TestCatalogueIsWrittenOnlyWhenChanged compares its version before and after Updates that leave it as it is.
func TestCatalogueIsWrittenOnlyWhenChanged(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 3)
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.SetLabel(0, "a"), tx.SetLabel(1, "b"), tx.CreateMatrix("m", []string{"x", "y"}),
			tx.SetRow("m", 0, []float32{1, 2}))
	})
	version := func() uint64 {
		t.Helper()
		var v uint64
		view(t, s, func(*Tx) error { v = s.latest.Load().version; return nil })
		return v
	}
	for _, test := range []struct {
		name  string
		write func(tx *Tx) error
		want  bool
	}{
		{"a label of a known class", func(tx *Tx) error { return tx.SetLabel(0, "b") }, false},
		{"no label", func(tx *Tx) error { return tx.SetLabel(1, "") }, false},
		{"a row", func(tx *Tx) error { return tx.SetRow("m", 1, []float32{3, 4}) }, false},
		{"a mark that is there", func(tx *Tx) error { return tx.SetIndexed(LabelColumn, false) }, false},
		{"a space that is not", func(tx *Tx) error { return tx.DropSpace("none") }, false},
		{"a new class", func(tx *Tx) error { return tx.SetLabel(2, "c") }, true},
		{"a new column", func(tx *Tx) error { return tx.AddColumn("x", KindInt) }, true},
		{"its first value", func(tx *Tx) error { return tx.SetValue(2, "x", IntValue(1)) }, true},
		{"another value", func(tx *Tx) error { return tx.SetValue(2, "x", IntValue(2)) }, false},
	} {
		before := version()
		update(t, s, test.write)
		if got := version() != before; got != test.want {
			t.Errorf("%s: the catalogue was written: %t, want %t", test.name, got, test.want)
		}
	}
	view(t, s, func(tx *Tx) error {
		for v, want := range []string{"b", "", "c"} {
			if got, err := tx.Value(NodeID(v), LabelColumn); err != nil || got.Str() != want {
				t.Errorf("label of node %d: got %v, %v; want %q", v, got, err, want)
			}
		}
		return nil
	})
}
