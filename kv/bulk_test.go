package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestBulkRefusesRows puts rows twice, and rows that do not ascend into writers that do not sort. Those that sort tell
// at the end.
func TestBulkRefusesRows(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 10)
	for _, order := range [][]NodeID{{3, 3}, {1, 2, 5, 1}, {5, 4, 9, 4}} {
		for _, what := range []string{"column x", "matrix m"} {
			for _, sorts := range []bool{false, true} {
				b := must.Get(s.Bulk(context.Background()))(t)
				column, matrix := must.Get(b.Column("x", KindInt))(t), must.Get(b.Matrix("m", []string{"a"}))(t)
				if sorts {
					column.Sort()
					matrix.Sort()
				}
				var refused error
				for _, v := range order {
					if what == "column x" {
						refused = cmp.Or(refused, column.Put(v, ValueOf(1)))
					} else {
						refused = cmp.Or(refused, matrix.Put(v, []float32{1}))
					}
				}
				err := b.Commit(nil)
				if sorts {
					want := fmt.Sprintf("%s: %v: node number %d", what, ErrDuplicateRow, order[len(order)-1])
					if refused != nil || !errors.Is(err, ErrDuplicateRow) || err.Error() != want {
						t.Errorf("%s, order %v: got %v, and %v of Commit, want a node given twice", what, order, refused, err)
					}
				} else if !errors.Is(refused, ErrInvalidValue) || !errors.Is(err, ErrInvalidValue) {
					t.Errorf("%s, order %v: got %v, and %v of Commit, want ErrInvalidValue", what, order, refused, err)
				}
				b.Abort()
			}
		}
	}
	checkNoGarbage(t, s)
}

// checkNoGarbage fails when a record belongs to a generation that the catalogue does not name.
func checkNoGarbage(t *testing.T, s *Store) {
	t.Helper()
	if got := countGarbage(t, s); got > 0 {
		t.Errorf("%d records of no generation that counts", got)
	}
}

func countGarbage(t *testing.T, s *Store) (garbage int) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		live := tx.cat.live()
		for r, err := range tx.records().Scan(nil, []byte{byte(record.FirstGenerational)}) {
			must.Do(t, err)
			var g record.Generation
			for _, b := range r.Key[1:5] {
				g = g<<8 | record.Generation(b)
			}
			if !live[g] {
				garbage++
			}
		}
		return nil
	})
	return garbage
}

func TestBulkIsInvisibleUntilCommit(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 10)
	ones := make([]Value, 10)
	for i := range ones {
		ones[i] = ValueOf(1)
	}
	writeColumn(t, s, "x", KindInt, ones, identity(10))
	update(t, s, func(tx *Tx) error { return tx.SetIndexed("x", true) })
	check := func(tx *Tx, want Value, indexed bool) {
		t.Helper()
		got, err := tx.Value(4, "x")
		column, ok := tx.Column("x")
		if err != nil || got != want || !ok || column.Indexed != indexed {
			t.Errorf("got %v, %v, indexed %t; want %v, indexed %t", got, err, column.Indexed, want, indexed)
		}
	}
	write := func(b *Bulk) {
		t.Helper()
		w := must.Get(b.Column("x", KindFloat))(t)
		must.Do(t, errors.Join(w.Put(3, ValueOf(0.5)), w.Put(4, ValueOf(0.25))))
		put := must.Get(b.Space("s"))(t)
		must.Do(t, put([]byte("k"), []byte("v")))
	}
	before := s.Begin()
	defer before.Close()

	b, err := s.Bulk(context.Background())
	must.Do(t, err)
	write(b)
	b.Abort()
	b.Abort() // again does nothing
	view(t, s, func(tx *Tx) error { check(tx, ValueOf(1), true); return nil })
	checkNoGarbage(t, s)
	if err := b.Commit(nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Commit after Abort: got %v, want ErrClosed", err)
	}

	if b, err = s.Bulk(context.Background()); err != nil {
		t.Fatal(err)
	}
	write(b)
	failure := errors.New("failure")
	if err := b.Commit(func(*Tx) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("Commit: got %v, want final's error", err)
	}
	b.Abort()
	view(t, s, func(tx *Tx) error { check(tx, ValueOf(1), true); return nil })

	if b, err = s.Bulk(context.Background()); err != nil {
		t.Fatal(err)
	}
	write(b)
	check(b.Tx(), ValueOf(1), true)
	must.Do(t, b.Commit(func(tx *Tx) error {
		check(tx, ValueOf(0.25), false)
		return tx.Documents("runs").Put("1", "done")
	}))
	b.Abort() // does nothing
	check(before, ValueOf(1), true)
	view(t, s, func(tx *Tx) error {
		check(tx, ValueOf(0.25), false)
		if value, err := tx.Space("s").Get([]byte("k")); err != nil || string(value) != "v" {
			t.Errorf("space: got %q, %v; want v", value, err)
		}
		var text string
		return tx.Documents("runs").Get("1", &text)
	})
	checkNoGarbage(t, s)
}

// TestCrashInBulk copies the files of the store at points within a Bulk, as a crash would leave them.
func TestCrashInBulk(t *testing.T) {
	s := newStore(t, Options{})
	const n = 100_000
	setNodes(t, s, n)
	b := must.Get(s.Bulk(context.Background()))(t)
	defer b.Abort()
	w := must.Get(b.Matrix("m", []string{"a", "b", "c", "d", "e", "f", "g", "h"}))(t)
	row := make([]float32, 8)
	for v := range NodeID(n) {
		row[v%8] = float32(v) + 0.5
		must.Do(t, w.Put(v, row))
	}
	must.Do(t, b.batch.Flush())
	dir := copyStore(t, s.Dir())
	if len(fileNames(t, dir, "*.pack")) == 0 {
		t.Error("the store that was copied holds no pack: the test shows nothing")
	}
	c := openStore(t, dir, Options{})
	view(t, c, func(tx *Tx) error {
		if got := tx.Matrices(); len(got) != 0 {
			t.Errorf("got matrices %q after a crash before Commit, want none", got)
		}
		return nil
	})
	checkNoGarbage(t, c)
	if left := fileNames(t, dir, "*.pack"); len(left) > 0 {
		t.Errorf("%v stays behind", left)
	}
	generations := map[record.Generation]bool{}
	for range 2 {
		b := must.Get(c.Bulk(context.Background()))(t)
		w := must.Get(b.Matrix("m", []string{"a"}))(t)
		generations[w.entry.Generation] = true
		b.Abort()
	}
	if len(generations) != 2 {
		t.Errorf("a generation was handed out twice: %v", generations)
	}
}

// TestNarrowMatrices writes matrices of no columns, and of no rows.
func TestNarrowMatrices(t *testing.T) {
	s := newStore(t, Options{})
	for _, n := range []int{0, 1, 1025} {
		setNodes(t, s, n)
		for _, width := range []int{0, 1, 17} {
			b := must.Get(s.Bulk(context.Background()))(t)
			w := must.Get(b.Matrix("m", make([]string, width)))(t)
			for v := range NodeID(n) {
				must.Do(t, w.Put(v, make([]float32, width)))
			}
			must.Do(t, b.Commit(nil))
			view(t, s, func(tx *Tx) error {
				m := must.Get(tx.Matrix("m"))(t)
				if err := m.Read(Range{End: NodeID(n + 1)}, 0, width, nil); m.Width() != width || !errors.Is(err, ErrShape) {
					t.Errorf("%d×%d: got width %d, and of a row too many %v, want ErrShape", n, width, m.Width(), err)
				}
				rows := slices.Repeat([]float32{1}, n*width)
				err := m.Read(Range{End: NodeID(n)}, 0, width, rows)
				if slices.ContainsFunc(rows, func(x float32) bool { return x != 0 }) {
					t.Errorf("%d×%d: got %v, want zeros", n, width, rows)
				}
				return err
			})
		}
	}
}
