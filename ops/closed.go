package ops

import (
	"context"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// closedForms computes the diagonals of a simple graph: those of two and three steps by their closed forms, those of
// more steps by a walkJob.
type closedForms struct {
	graph      *rankedGraph
	hops, have int
	capacity   int64                  // bytes of adjacency that triangles may hold
	dir        *scratch.Dir           // of before
	before     *scratch.Array[uint32] // by rank: neighbours of lesser rank, counted with the steps
	longer     *walkJob               // of k ≥ 4; nil if there are none
	progress   *meter
}

func newClosedForms(w *walker, s *survey, powers Powers) *closedForms {
	f := &closedForms{graph: newRankedGraph(w, s), hops: powers.Hops, have: len(powers.Have)}
	if f.hops >= 4 {
		f.longer = &walkJob{walker: w, survey: s, hops: f.hops, have: max(3, f.have)}
	}
	return f
}

// lacks tells whether diag(Ã^k) is to be computed.
func (f *closedForms) lacks(k int) bool { return f.have < k && k <= f.hops }

func (f *closedForms) close() error { return f.before.Close() }

// count walks the graph once, and counts before on the way; for k = 5 twice more. Counts are integers, so that the
// order of the workers does not show. The triangles take a step for each pair of neighbours x < y of a node z > y.
func (f *closedForms) count(ctx context.Context) (steps float64, err error) {
	n := f.graph.walker.nodes
	if f.before, err = scratch.New[uint32](f.dir, "diagonal-before", n); err != nil {
		return 0, err
	}
	var probes atomic.Int64
	err = f.graph.walk(ctx, span{0, rank(n)}, nil, func(_ context.Context, _ int, u rank, list []rank) error {
		before := int64(len(kernel.Below(list, u)))
		f.before.Data[u] = uint32(before)
		probes.Add(before * (before - 1) / 2)
		return nil
	})
	if err != nil {
		return 0, err
	}
	if f.lacks(3) {
		steps = float64(probes.Load())
	}
	if f.longer == nil {
		return steps, nil
	}
	more, err := f.longer.count(ctx)
	return steps + more, err
}

func (f *closedForms) passes() (passes int) {
	if f.lacks(2) {
		passes++
	}
	if f.lacks(3) {
		passes += 1 + len(f.spans())
	}
	if f.longer != nil {
		passes += f.longer.passes()
	}
	return passes
}

// spans cuts the ranks that are no hubs so that the neighbours before them fit into the capacity.
func (f *closedForms) spans() []span {
	return heldSpans(f.before.Data, f.graph.survey.hubs(), f.capacity)
}

func (f *closedForms) hop(ctx context.Context, k int, out []float64) error {
	switch k {
	case 2:
		return f.returns2(ctx, out)
	case 3:
		return f.returns3(ctx, out)
	default:
		return f.longer.hop(ctx, k, out)
	}
}

// returns2 is δ_v S_v.
func (f *closedForms) returns2(ctx context.Context, out []float64) error {
	degrees := f.graph.survey.degrees
	return f.graph.walker.walk(ctx, func(ctx context.Context, _ int, adj *kv.Adjacency) error {
		for v := adj.First; v < adj.End; v++ {
			if v%256 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			list, sum := adj.Of(v), 0.0
			for _, u := range list {
				sum += inverse(degrees[u])
			}
			out[v] = inverse(uint32(len(list))) * sum
		}
		f.progress.add(len(adj.Neighbors))
		return nil
	})
}
