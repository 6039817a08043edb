package ops

import (
	"context"
	"fmt"
	"testing"
)

// The graph of hops 5 is smaller: its price grows fastest.
func BenchmarkDiagonalHop(b *testing.B) {
	for hops := 2; hops <= MaxHops; hops++ {
		g := benchGraph()
		if hops == MaxHops {
			g = rmat(12, 16, 1)
		}
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("hops=%d/workers=%d", hops, workers), func(b *testing.B) {
				ctx := context.Background()
				job, err := diagonalJobOf(g, hops, Options{Workers: workers, MemoryBudget: 4 << 30})
				if err != nil {
					b.Fatal(err)
				}
				all, err := job.price(ctx)
				if err != nil {
					b.Fatal(err)
				}
				for k := 1; k < hops; k++ {
					if err := job.hop(ctx, k); err != nil {
						b.Fatal(err)
					}
				}
				steps := float64(g.entries())
				switch hops {
				case 3:
					steps = all.triangleProbes
				case 4:
					steps = 2 * all.wedges
				case 5:
					steps = all.laterProbes + 2*all.wedges + all.ballProbes
				}
				b.ReportAllocs()
				for b.Loop() {
					if err := job.hop(ctx, hops); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(steps*float64(b.N)/b.Elapsed().Seconds(), "steps/s")
				b.ReportMetric(float64(g.entries()/2)*float64(b.N)/b.Elapsed().Seconds(), "edges/s")
			})
		}
	}
}
