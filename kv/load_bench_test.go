package kv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// rmat draws an edge of a graph with 2^scale nodes whose degrees are as uneven as those of real ones.
func rmat(r *rand.Rand, scale int) (u, v int) {
	for range scale {
		x := r.Float64()
		u, v = 2*u, 2*v
		switch {
		case x < 0.57:
		case x < 0.76:
			v++
		case x < 0.95:
			u++
		default:
			u++
			v++
		}
	}
	return u, v
}

func loadRMAT(b *testing.B, dir string, scale, degree int, prefix string, opt LoadOptions) LoadStats {
	b.Helper()
	opt.OnStage = func(stage string, seconds float64, _ int64) { b.ReportMetric(seconds, stage+"-s") }
	l := must.Get(NewLoader(b.Context(), dir, opt))(b)
	ids := make([]string, 1<<scale)
	order := rand.New(rand.NewPCG(2, 0)).Perm(len(ids))
	for i := range ids {
		ids[i] = prefix + strconv.Itoa(order[i])
	}
	for _, at := range rand.New(rand.NewPCG(3, 0)).Perm(len(ids)) {
		must.Do(b, l.AddNode(Node{ID: ids[at], Label: "a"}))
	}
	writers := max(opt.Workers, 1)
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			w := l.EdgeWriter()
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range degree << scale / writers {
				u, v := rmat(r, scale)
				errs[i] = errors.Join(errs[i], w.Add(ids[u], ids[v], 0))
			}
			errs[i] = errors.Join(errs[i], w.Close())
		})
	}
	wg.Wait()
	must.Do(b, errors.Join(errs...))
	stats := must.Get(l.Commit(b.Context(), nil))(b)
	return stats
}

func BenchmarkLoad(b *testing.B) {
	const scale, degree = 16, 16
	for _, prefix := range []string{"", "paper-"} {
		for _, budget := range []int64{16 << 20, 1 << 30} {
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("ids=%q/budget=%d/workers=%d", prefix, budget, workers), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						dir := filepath.Join(b.TempDir(), "graph")
						loadRMAT(b, dir, scale, degree, prefix, LoadOptions{MemoryBudget: budget, Workers: workers})
					}
					b.ReportMetric(float64(int64(degree<<scale)*int64(b.N))/b.Elapsed().Seconds(), "edges/s")
				})
			}
		}
	}
}
