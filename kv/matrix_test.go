package kv

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestMatrixWindows writes rows in order and out of it, changes some, compacts, and reads windows all along.
func TestMatrixWindows(t *testing.T) {
	t.Parallel()
	const n = 1500
	for i, width := range []int{7, 300} {
		for _, ordered := range []bool{true, false} {
			if !longtest.Asked() && ordered == (i%2 == 1) {
				continue
			}
			t.Run(fmt.Sprintf("width=%d/ordered=%v", width, ordered), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(width), 1))
				s := nodesOnly(t, filepath.Join(t.TempDir(), "graph"), n)
				want := make([][]float32, n)
				draw := func(v int) []float32 {
					want[v] = make([]float32, width)
					for range 3 + r.IntN(2)*width {
						want[v][r.IntN(width)] = r.Float32()
					}
					return want[v]
				}
				b := must.Get(s.Bulk(context.Background()))(t)
				defer b.Abort()
				columns := make([]string, width)
				for j := range columns {
					columns[j] = fmt.Sprint("c", j)
				}
				w := must.Get(b.Matrix("m", columns))(t)
				order := r.Perm(n)
				if ordered {
					slices.Sort(order)
				} else {
					w.Sort()
				}
				for _, v := range order {
					if v%50 != 49 { // those are never written
						must.Do(t, w.Put(NodeID(v), draw(v)))
					}
				}
				must.Do(t, b.Commit(nil))
				verifyWindows(t, s, r, want)
				for range 20 {
					v := r.IntN(n)
					must.Do(t, s.Update(func(tx *Tx) error { return tx.SetRow("m", NodeID(v), draw(v)) }))
				}
				verifyWindows(t, s, r, want)
				must.Do(t, s.Compact(t.Context(), nil))
				verifyWindows(t, s, r, want)
				checkClean(t, s)
			})
		}
	}
}

// verifyWindows compares the whole matrix m, and parts of it, with rows, of which nil was never written.
func verifyWindows(t *testing.T, s *Store, r *rand.Rand, rows [][]float32) {
	t.Helper()
	must.Do(t, s.View(func(tx *Tx) error {
		m := must.Get(tx.Matrix("m"))(t)
		for k := range 30 {
			first, lo := r.IntN(len(rows)), r.IntN(m.Width())
			end, hi := first+1+r.IntN(len(rows)-first), lo+1+r.IntN(m.Width()-lo)
			if k == 0 {
				first, end, lo, hi = 0, len(rows), 0, m.Width()
			} else if m.Width() > 100 {
				end = min(end, first+100)
			}
			dst := make([]float32, (end-first)*(hi-lo))
			must.Do(t, m.Read(Range{First: NodeID(first), End: NodeID(end)}, lo, hi, dst))
			for i := range end - first {
				for j := range hi - lo {
					want := float32(math.NaN())
					if row := rows[first+i]; row != nil {
						want = row[lo+j]
					}
					if got := dst[i*(hi-lo)+j]; math.Float32bits(got) != math.Float32bits(want) {
						t.Fatalf("cell %d,%d: got %v, want %v", first+i, lo+j, got, want)
					}
				}
			}
		}
		return nil
	}))
}

// nodesOnly is a store of n nodes without edges.
func nodesOnly(t testing.TB, dir string, n int) *Store {
	t.Helper()
	l := must.Get(NewLoader(t.Context(), dir, LoadOptions{}))(t)
	for v := range n {
		must.Do(t, l.AddNode(Node{ID: fmt.Sprint(v)}))
	}
	must.Get(l.Commit(t.Context(), nil))(t)
	return openTest(t, dir)
}

// TestDeleteOfLongKey: no entry can have such a key, so there is nothing to delete.
func TestDeleteOfLongKey(t *testing.T) {
	s := newStore(t, Options{})
	update(t, s, func(tx *Tx) error { return tx.Space("a").Put([]byte("k"), nil) })
	update(t, s, func(tx *Tx) error { return tx.Space("a").Delete(make([]byte, 70_000)) })
}
