package ops

import "context"

// A pairSum is what the paths x–u–w of one x to one w add up to: Σ δ_u, and Σ δ_u δ_u' over the pairs u, u'.
type pairSum struct{ sum, pairs float64 }

// pairBytes is what a worker holds a node to find 4-cycles: a pairSum and a place in a list.
const pairBytes = 16 + 4

// returns4 is the walks to a neighbour and back twice, the walks to a node at two steps and back the same way, and
// 2 Σ π over the 4-cycles of a node. A 4-cycle x–u–w–u' is found from x, its least rank, as two paths to w.
func (job *diagonalJob) returns4(ctx context.Context) ([]float64, error) {
	n := len(job.delta)
	units := make(fixedSums, n)
	type scratch struct {
		sums    []pairSum
		touched []rank
	}
	workers := make([]scratch, len(job.graph.lists))
	for i := range workers {
		workers[i].sums = make([]pairSum, n)
	}
	err := job.searchSpans(ctx, false, func(ctx context.Context, held *heldLists, worker int, x rank, list []rank) error {
		list = above(list, x)
		if len(list) < 2 {
			return nil
		}
		s := &workers[worker]
		defer func() {
			for _, w := range s.touched {
				s.sums[w] = pairSum{}
			}
			s.touched = s.touched[:0]
		}()
		walked := pace(0)
		for _, u := range list {
			d, paths := job.delta[u], held.of(u)
			for i := len(paths) - 1; i >= 0 && paths[i] > x; i-- {
				p := &s.sums[paths[i]]
				if p.sum == 0 {
					s.touched = append(s.touched, paths[i])
				}
				p.pairs += float64(d * p.sum)
				p.sum += d
			}
			if err := walked.walk(ctx, len(paths)); err != nil {
				return err
			}
		}
		ofX := int64(0)
		for _, w := range s.touched {
			if s.sums[w].pairs > 0 {
				pi := toUnits(job.delta[x] * job.delta[w] * s.sums[w].pairs)
				units.add(w, pi)
				ofX += pi
			}
		}
		units.add(x, ofX)
		for _, u := range list {
			d, paths := job.delta[u], held.of(u)
			xu, ofU := job.delta[x]*d, int64(0)
			for i := len(paths) - 1; i >= 0 && paths[i] > x; i-- {
				w := paths[i]
				if others := s.sums[w].sum - d; others > 0 {
					// Rounded one by one, so that the spans held do not change the sum.
					ofU += toUnits(xu * job.delta[w] * others)
				}
			}
			units.add(u, ofU)
			if err := walked.walk(ctx, len(paths)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	backAndForth, err := job.neighborSums(ctx, func(v, u rank) float64 {
		return job.delta[u] * job.delta[u] * (job.spread[u] - job.delta[v])
	})
	if err != nil {
		return nil, err
	}
	out := make([]float64, n)
	for v := range out {
		d, s := job.delta[v], job.spread[v]
		out[v] = float64(d*(backAndForth[v]+float64(d*s*s))) + 2*units.at(rank(v))
	}
	return out, nil
}
