package kv

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// BenchmarkPatch adds edges between known nodes of a graph of 2^17 nodes and 2^20 edges: by a Patch of so many rows, and by Updates
// of one edge each.
func BenchmarkPatch(b *testing.B) {
	const n = 1 << 17
	r := rand.New(rand.NewPCG(1, 2))
	id := func() string { return strconv.Itoa(r.IntN(n)) }
	dir := filepath.Join(b.TempDir(), "store")
	l := must.Get(NewLoader(b.Context(), dir, LoadOptions{}))(b)
	for i := range n {
		must.Do(b, l.AddNode(Node{ID: strconv.Itoa(i)}))
	}
	for range 8 * n {
		must.Do(b, l.AddEdge(id(), id(), 0))
	}
	must.Get(l.Commit(b.Context(), nil))(b)
	s := must.Get(Open(dir, Options{}))(b)
	defer func() { must.Do(b, s.Close()) }()
	perEdge := func(b *testing.B, edges int) {
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(edges), "µs/edge")
	}
	for _, rows := range []int{1000, mostInUpdate, 100_000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			for b.Loop() {
				p := must.Get(s.NewPatch(PatchOptions{}))(b)
				for range rows {
					must.Do(b, p.AddEdge(id(), id(), 0))
				}
				must.Get(p.Commit(b.Context()))(b)
			}
			perEdge(b, rows)
		})
	}
	b.Run("updates", func(b *testing.B) {
		for b.Loop() {
			u, v := NodeID(r.IntN(n)), NodeID(r.IntN(n))
			must.Do(b, s.Update(func(tx *Tx) error {
				if has, err := tx.HasEdge(u, v); has || u == v || err != nil {
					return err
				}
				return tx.AddEdge(u, v)
			}))
		}
		perEdge(b, 1)
	})
}
