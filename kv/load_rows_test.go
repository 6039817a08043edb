package kv

import (
	"errors"
	"fmt"
	"path/filepath"
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
			w := l.EdgeWriter()
			return errors.Join(w.AddWeighted("p1", "p2", 2, 7), w.Close())
		}},
		"an arc's weight": {LoadOptions{Weighted: true, Directed: true}, ErrInvalidEdge, func(l *Loader) error {
			w := l.EdgeWriter()
			return errors.Join(w.AddWeighted("p1", "p2", -1, 7), w.Close())
		}},
		"a closed writer": {LoadOptions{}, ErrClosed, func(l *Loader) error {
			w := l.EdgeWriter()
			return errors.Join(w.Close(), w.Add("p1", "p2", 1))
		}},
		"an open writer": {LoadOptions{}, load.ErrWriterOpen, func(l *Loader) error {
			if err := l.EdgeWriter().Add("p1", "p2", 1); err != nil {
				t.Error(err)
			}
			return load.ErrWriterOpen
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
			return w.Put(1, StringValue("text"))
		},
		"a node": func(b *Bulk) error {
			w := must.Get(b.Column("c", KindInt))(t)
			return w.Put(10, IntValue(1))
		},
		"floats": func(b *Bulk) error {
			w := must.Get(b.Column("c", KindInt))(t)
			return w.PutFloats(0, []float32{1})
		},
		"classes": func(b *Bulk) error {
			w := must.Get(b.Column("c", KindClass))(t)
			return w.PutClasses(0, []Class{77})
		},
		"a row": func(b *Bulk) error {
			w := must.Get(b.Matrix("m", []string{"a"}, MatrixEncoding{}))(t)
			return w.Put(0, []float32{1, 2})
		},
		"an entry": func(b *Bulk) error {
			w := must.Get(b.Space("s"))(t)
			return errors.Join(w.Put([]byte("b"), nil), w.Put([]byte("a"), nil))
		},
	} {
		b := must.Get(s.Bulk())(t)
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
// behind which numbers of nodes begin again.
func TestLastBlocks(t *testing.T) {
	s := newStore(t, Options{})
	b := must.Get(s.Bulk())(t)
	defer b.Abort()
	const rows = record.MaxNodes
	column := must.Get(b.Column("c", KindInt))(t)
	matrix := must.Get(b.Matrix("m", []string{"a"}, MatrixEncoding{}))(t)
	column.entry.Rows, matrix.entry.Rows = rows, rows
	column.block = make([]Value, codec.ColumnRows)
	column.startBlock(rows / codec.ColumnRows * codec.ColumnRows)
	if uint32(column.first) == rows {
		column.startBlock(column.first - codec.ColumnRows)
	}
	if _, err := column.finish(); err != nil || b.batch.Records != 1 {
		t.Errorf("column: %d records (%v), want 1", b.batch.Records, err)
	}
	height := NodeID(matrix.entry.BlockRows)
	matrix.block = codec.Window{Values: make([]float32, height), Stride: 1}
	matrix.startBlock((rows - height) / height * height)
	if _, err := matrix.finish(); err != nil || b.batch.Records != 2 {
		t.Errorf("matrix: %d records (%v), want 1 more", b.batch.Records, err)
	}
}
