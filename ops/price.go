package ops

import (
	"context"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
)

// A price is the work of diagonals, in elementary steps such as looking at one neighbour, counted from the
// degrees before any of it is done. What K does not need is zero.
type price struct {
	triangleProbes float64   // k ≥ 3: the pairs of neighbours x < y of a node z > y
	walks          walkPrice // k ≥ 4; without wedges
}

// steps is the sum that Options.MaxPrice bounds.
func (p price) steps() float64 { return p.triangleProbes + p.walks.steps() }

// stepsAfter is what is left of steps where the diagonals up to that of k are known.
func (p price) stepsAfter(k int) float64 {
	if k >= 3 {
		p.triangleProbes = 0
	}
	if k >= 4 {
		p.walks.squares = 0
	}
	return p.steps()
}

// price walks the graph once, and counts job.before on the way; for k = 5 twice more. Counts are integers, so that the
// order of the workers does not show.
func (job *diagonalJob) price(ctx context.Context) (p price, err error) {
	g := job.graph
	n := g.walker.nodes
	if job.before, err = scratch.New[uint32](job.dir, "diagonal-before", n); err != nil {
		return price{}, err
	}
	var probes atomic.Int64
	err = g.walk(ctx, span{0, rank(n)}, nil, func(_ context.Context, _ int, u rank, list []rank) error {
		before := int64(len(below(list, u)))
		job.before.Data[u] = uint32(before)
		probes.Add(before * (before - 1) / 2)
		return nil
	})
	if err != nil {
		return price{}, err
	}
	p.triangleProbes = float64(probes.Load())
	if job.hops < 4 {
		return p, nil
	}
	job.meetings = job.newMeetings()
	if err := job.meetings.count(ctx); err != nil {
		return price{}, err
	}
	p.walks = job.meetings.price
	p.walks.wedges = 0
	return p, nil
}
