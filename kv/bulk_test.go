package kv

import (
	"errors"
	"fmt"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestBulkTakesAscendingRows puts rows that do not ascend into writers that do not sort.
func TestBulkTakesAscendingRows(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 10)
	for _, order := range [][]NodeID{{3, 3}, {1, 2, 5, 1}} {
		b := must.Get(s.Bulk())(t)
		column, matrix := must.Get(b.Column("x", KindInt))(t), must.Get(b.Matrix("m", []string{"a"}, MatrixEncoding{}))(t)
		for i, v := range order {
			for _, err := range []error{column.Put(v, IntValue(1)), matrix.Put(v, []float32{1})} {
				if last := i == len(order)-1; last != errors.Is(err, ErrInvalidValue) || !last && err != nil {
					t.Errorf("order %v: node %d: got %v", order, v, err)
				}
			}
		}
		if err := b.Commit(nil); !errors.Is(err, ErrInvalidValue) {
			t.Errorf("order %v: Commit: got %v, want ErrInvalidValue", order, err)
		}
		b.Abort()
	}
	checkNoGarbage(t, s)
}

func TestBulkDuplicates(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 10)
	for _, test := range []struct {
		order []NodeID
		want  NodeID
	}{{[]NodeID{3, 3}, 3}, {[]NodeID{1, 2, 5, 1}, 1}, {[]NodeID{5, 4, 9, 4}, 4}} {
		for _, what := range []string{"column x", "matrix m"} {
			b := must.Get(s.Bulk())(t)
			column := must.Get(b.Column("x", KindInt))(t)
			matrix, err := b.Matrix("m", []string{"a"}, MatrixEncoding{})
			must.Do(t, err)
			column.Sort()
			matrix.Sort()
			for _, v := range test.order {
				put := func() error { return column.Put(v, IntValue(1)) }
				if what == "matrix m" {
					put = func() error { return matrix.Put(v, []float32{1}) }
				}
				must.Do(t, put())
			}
			err = b.Commit(nil)
			var duplicate *DuplicateRowError
			if !errors.Is(err, ErrDuplicateRow) || !errors.As(err, &duplicate) || *duplicate != (DuplicateRowError{what, test.want}) {
				t.Errorf("%s, order %v: got %v, want node %d given twice", what, test.order, err, test.want)
			}
			b.Abort()
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
		ones[i] = IntValue(1)
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
		must.Do(t, w.PutFloats(3, []float32{0.5, 0.25}))
		space := must.Get(b.Space("s"))(t)
		must.Do(t, space.Put([]byte("k"), []byte("v")))
	}
	before := s.Begin()
	defer before.Close()

	b, err := s.Bulk()
	must.Do(t, err)
	write(b)
	b.Abort()
	b.Abort() // again does nothing
	view(t, s, func(tx *Tx) error { check(tx, IntValue(1), true); return nil })
	checkNoGarbage(t, s)
	if err := b.Commit(nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Commit after Abort: got %v, want ErrClosed", err)
	}

	if b, err = s.Bulk(); err != nil {
		t.Fatal(err)
	}
	write(b)
	failure := errors.New("failure")
	if err := b.Commit(func(*Tx) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("Commit: got %v, want final's error", err)
	}
	b.Abort()
	view(t, s, func(tx *Tx) error { check(tx, IntValue(1), true); return nil })

	if b, err = s.Bulk(); err != nil {
		t.Fatal(err)
	}
	write(b)
	check(b.Tx(), IntValue(1), true)
	must.Do(t, b.Commit(func(tx *Tx) error {
		check(tx, FloatValue(0.25), false)
		return tx.Documents("runs").Put("1", "done")
	}))
	b.Abort() // does nothing
	check(before, IntValue(1), true)
	view(t, s, func(tx *Tx) error {
		check(tx, FloatValue(0.25), false)
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
	b := must.Get(s.Bulk())(t)
	defer b.Abort()
	w := must.Get(b.Matrix("m", []string{"a", "b", "c", "d", "e", "f", "g", "h"}, MatrixEncoding{}))(t)
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
		b := must.Get(c.Bulk())(t)
		w := must.Get(b.Matrix("m", []string{"a"}, MatrixEncoding{}))(t)
		generations[w.entry.Generation] = true
		b.Abort()
	}
	if len(generations) != 2 {
		t.Errorf("a generation was handed out twice: %v", generations)
	}
}

func TestMatrixShapes(t *testing.T) {
	s := newStore(t, Options{})
	for _, n := range []int{0, 1, 1025} {
		setNodes(t, s, n)
		for _, width := range []int{0, 1, 16, 17, 40, 5000} {
			columns := make([]string, width)
			for j := range columns {
				columns[j] = fmt.Sprint("c", j)
			}
			b := must.Get(s.Bulk())(t)
			w := must.Get(b.Matrix("m", columns, MatrixEncoding{}))(t)
			row := make([]float32, width)
			for v := range NodeID(n) {
				for j := range row {
					row[j] = float32(v) + float32(j)/8192
					if v%2 == 1 && j < width-1 { // a sparse row
						row[j] = 0
					}
				}
				must.Do(t, w.Put(v, row))
			}
			must.Do(t, b.Commit(nil))
			view(t, s, func(tx *Tx) error {
				m := must.Get(tx.Matrix("m"))(t)
				if m.Width() != width || len(m.Columns()) != width {
					t.Errorf("got width %d, want %d", m.Width(), width)
				}
				lo, hi := width/3, width-width/4
				dst := make([]float32, n*(hi-lo))
				must.Do(t, m.Read(Range{First: 0, End: NodeID(n)}, lo, hi, dst))
				for v := range n {
					for j := lo; j < hi; j++ {
						want := float32(v) + float32(j)/8192
						if v%2 == 1 {
							want = 0
							if j == width-1 {
								want = float32(v)
							}
						}
						if got := dst[v*(hi-lo)+j-lo]; got != want {
							t.Fatalf("%d×%d, cell %d,%d: got %v, want %v", n, width, v, j, got, want)
						}
					}
				}
				if err := m.Read(Range{First: 0, End: NodeID(n + 1)}, 0, width, nil); !errors.Is(err, ErrShape) {
					t.Errorf("%d×%d, a row too many: got %v, want ErrShape", n, width, err)
				}
				return nil
			})
		}
	}
}
