package ops

import "context"

// A rankSet is a set of ranks, one bit each.
type rankSet []uint64

func newRankSet(n int) rankSet    { return make(rankSet, (n+63)/64) }
func (s rankSet) add(x rank)      { s[x/64] |= 1 << (x % 64) }
func (s rankSet) remove(x rank)   { s[x/64] &^= 1 << (x % 64) }
func (s rankSet) has(x rank) bool { return s[x/64]&(1<<(x%64)) != 0 }
func (s rankSet) addAll(list []rank) {
	for _, x := range list {
		s.add(x)
	}
}
func (s rankSet) removeAll(list []rank) {
	for _, x := range list {
		s.remove(x)
	}
}

// closing appends to dst the nodes w > y, descending, that close a triangle with y and the node whose later neighbours
// are marked.
func closing(dst []rank, held *heldLists, y rank, marked rankSet) []rank {
	list := held.of(y)
	for i := len(list) - 1; i >= 0 && list[i] > y; i-- {
		if marked.has(list[i]) {
			dst = append(dst, list[i])
		}
	}
	return dst
}

// returns3 is 2 Σ π over the triangles x < y < z of a node.
func (job *diagonalJob) returns3(ctx context.Context) ([]float64, error) {
	n := len(job.delta)
	units := make(fixedSums, n)
	type scratch struct {
		marked rankSet
		closed []rank
	}
	workers := make([]scratch, len(job.graph.lists))
	for i := range workers {
		workers[i].marked = newRankSet(n)
	}
	err := job.searchSpans(ctx, true, func(ctx context.Context, held *heldLists, worker int, x rank, list []rank) error {
		list = above(list, x)
		if len(list) < 2 {
			return nil
		}
		s := &workers[worker]
		s.marked.addAll(list)
		defer s.marked.removeAll(list)
		ofX, walked := int64(0), pace(0)
		for _, y := range list {
			s.closed = closing(s.closed[:0], held, y, s.marked)
			ofY, xy := int64(0), job.delta[x]*job.delta[y]
			for _, z := range s.closed {
				// Rounded one by one, so that the spans held do not change the sum.
				pi := toUnits(xy * job.delta[z])
				units.add(z, pi)
				ofY += pi
			}
			units.add(y, ofY)
			ofX += ofY
			if err := walked.walk(ctx, len(held.of(y))); err != nil {
				return err
			}
		}
		units.add(x, ofX)
		return nil
	})
	if err != nil {
		return nil, err
	}
	job.around = make([]float64, n)
	out := make([]float64, n)
	for v := range out {
		job.around[v] = units.at(rank(v))
		out[v] = 2 * job.around[v]
	}
	return out, nil
}
