package kv

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestBulkWhileLoading writes into the store of a Loader, in any order, gives one Bulk up, and reads the others.
func TestBulkWhileLoading(t *testing.T) {
	const n = 5000
	dir := filepath.Join(t.TempDir(), "graph")
	l := must.Get(NewLoader(t.Context(), dir, LoadOptions{MemoryBudget: minMemoryBudget}))(t)
	for v := range n {
		must.Do(t, l.AddNode(Node{ID: fmt.Sprint(v)}))
	}
	write := func(s *Store, times float32, end func(b *Bulk) error) error {
		b := must.Get(s.Bulk())(t)
		defer b.Abort()
		x := must.Get(b.Column("x", KindFloat))(t)
		m := must.Get(b.Matrix("m", []string{"a", "b"}, MatrixEncoding{}))(t)
		x.Sort()
		m.Sort()
		for _, v := range rand.New(rand.NewPCG(1, 1)).Perm(n) {
			must.Do(t, x.Put(NodeID(v), FloatValue(float64(v)*float64(times))))
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
