package ops

import (
	"context"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A price is the work of exact diagonals, in elementary steps such as looking at one neighbour, counted from the
// degrees before any of it is done. What K does not need is zero.
type price struct {
	triangleProbes float64 // k ≥ 3: the pairs of a later neighbour of a node and a later neighbour of that
	wedges         float64 // k ≥ 4: the paths x–u–w with x before u and w, in order of descending degree
	ballProbes     float64 // k = 5: at most the entries in the lists of all w of those paths, once for every x
}

// steps is the sum that Options.MaxPrice bounds: wedges are walked twice for 4-cycles and twice again for 5-cycles.
func (p price) steps() float64 {
	steps := p.triangleProbes + float64(2*p.wedges)
	if p.ballProbes > 0 {
		steps += p.triangleProbes + float64(2*p.wedges) + p.ballProbes
	}
	return steps
}

// price walks the graph once, and counts job.before on the way. Counts are integers, so that the order of the
// workers does not show.
func (job *diagonalJob) price(ctx context.Context) (price, error) {
	var probes, wedges atomic.Int64
	var ball []atomic.Int64 // by x, of the entries in the lists of w over the paths x–u–w
	job.before = make([]uint32, len(job.delta))
	if job.hops >= 5 {
		ball = make([]atomic.Int64, len(job.delta))
	}
	err := job.graph.walker.walk(ctx, func(ctx context.Context, worker int, adj *kv.Adjacency) error {
		blockProbes, blockWedges := int64(0), int64(0)
		for i := range int(adj.End - adj.First) {
			u, list := job.graph.row(worker, adj, i)
			later := int64(len(above(list, u)))
			before := int64(len(list)) - later
			job.before[u] = uint32(before)
			blockProbes += before * later
			// The node before u at place j of its list has every later entry of the list for a w.
			blockWedges += before*(before-1)/2 + before*later
			if ball != nil {
				entries := int64(0)
				for j := len(list) - 1; j >= 0; j-- {
					if list[j] < u {
						ball[list[j]].Add(entries)
					}
					entries += int64(job.graph.degrees[list[j]])
				}
			}
		}
		probes.Add(blockProbes)
		wedges.Add(blockWedges)
		return ctx.Err()
	})
	if err != nil {
		return price{}, err
	}
	p := price{triangleProbes: float64(probes.Load())}
	if job.hops >= 4 {
		p.wedges = float64(wedges.Load())
	}
	for x := range ball {
		p.ballProbes += float64(min(ball[x].Load(), job.graph.survey.entries))
	}
	return p, nil
}
