package decide

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// benchStore is a store of n labelled nodes, without edges, with an index on label.
func benchStore(b *testing.B, n int) *kv.Store {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "store")
	l := must.Get(kv.NewLoader(b.Context(), dir, kv.LoadOptions{}))(b)
	for v := range n {
		must.Do(b, l.AddNode(kv.Node{ID: fmt.Sprint(v), Label: fmt.Sprint(v % 10)}))
	}
	must.Get(l.Commit(context.Background(), nil))(b)
	s := must.Get(index.Open(dir, kv.Options{MemoryBudget: 512 << 20}))(b)
	b.Cleanup(func() { must.Do(b, s.Close()) })
	must.Do(b, index.Create(context.Background(), s, kv.LabelColumn))
	return s
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		s := benchStore(b, n)
		for _, batch := range []int{1, 100, min(n, 20_000)} {
			b.Run(fmt.Sprintf("nodes=%d/batch=%d", n, batch), func(b *testing.B) {
				b.ReportAllocs()
				reqs := make([]Request, batch)
				next := 0
				for b.Loop() {
					for i := range reqs {
						reqs[i] = Request{Node: kv.NodeID(next % n), Kind: Relabel, To: fmt.Sprint((next / n) % 10)}
						next++
					}
					must.Get(Write(context.Background(), s, reqs, Options{Who: "bench"}))(b)
				}
				b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "decisions/s")
			})
		}
	}
}
