package ops

import (
	"context"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
)

// A price is the work of diagonals, in elementary steps such as looking at one neighbour, counted from the
// degrees before any of it is done. What K does not need is zero.
type price struct {
	triangleProbes float64 // k ≥ 3: the pairs of neighbours x < y of a node z > y
	wedges         float64 // k ≥ 4: the paths x–u–w with x before u and w, in order of descending degree
	ballProbes     float64 // k = 5: at most the entries in the lists of all w of those paths, once for every x
	laterProbes    float64 // k = 5: triangles as they are found there, from their first node
}

// steps is the sum that Options.MaxPrice bounds: wedges are walked twice for 4-cycles and twice again for 5-cycles.
func (p price) steps() float64 {
	steps := p.triangleProbes + float64(2*p.wedges)
	if p.ballProbes > 0 {
		steps += p.laterProbes + float64(2*p.wedges) + p.ballProbes
	}
	return steps
}

// stepsAfter is what is left of steps where the diagonals up to that of k are known.
func (p price) stepsAfter(k int) float64 {
	steps := p.steps()
	if k >= 3 {
		steps -= p.triangleProbes
	}
	if k >= 4 {
		steps -= float64(2 * p.wedges)
	}
	return steps
}

// price walks the graph once, and counts job.before on the way. Counts are integers, so that the order of the
// workers does not show.
func (job *diagonalJob) price(ctx context.Context) (p price, err error) {
	g := job.graph
	n := g.walker.nodes
	if job.before, err = scratch.New[uint32](job.dir, "diagonal-before", n); err != nil {
		return price{}, err
	}
	var probes, later, wedges atomic.Int64
	var ball []atomic.Int64 // by x, of the entries in the lists of w over the paths x–u–w
	if job.hops >= 5 {
		ball = make([]atomic.Int64, n)
	}
	err = g.walk(ctx, span{0, rank(n)}, nil, func(_ context.Context, _ int, u rank, list []rank) error {
		before := int64(len(below(list, u)))
		after := int64(len(list)) - before
		job.before.Data[u] = uint32(before)
		pairs := before * (before - 1) / 2
		probes.Add(pairs)
		later.Add(before * after)
		// The node before u at place j of its list has every later entry of the list for a w.
		wedges.Add(pairs + before*after)
		if ball != nil {
			entries := int64(0)
			for j := len(list) - 1; j >= 0; j-- {
				if list[j] < u {
					ball[list[j]].Add(entries)
				}
				entries += int64(g.degrees[list[j]])
			}
		}
		return nil
	})
	if err != nil {
		return price{}, err
	}
	p.triangleProbes = float64(probes.Load())
	if job.hops >= 4 {
		p.wedges = float64(wedges.Load())
	}
	if job.hops >= 5 {
		p.laterProbes = float64(later.Load())
	}
	for x := range ball {
		p.ballProbes += float64(min(ball[x].Load(), g.survey.entries))
	}
	return p, nil
}
