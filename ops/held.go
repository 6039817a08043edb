package ops

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
)

// heldLists are the neighbours lo ≤ w < hi of every node, in memory, by rank and ascending; where only later ones are
// held, those of u with w > u.
type heldLists struct {
	offsets []int64
	ranks   mapping[rank]
}

func (h *heldLists) of(u rank) []rank { return h.ranks.data[h.offsets[u]:h.offsets[u+1]] }

// A span is the ranks lo ≤ w < hi.
type span struct{ lo, hi rank }

// spans cuts the ranks so that the lists of each span have at most capacity entries, given the number of entries
// that each rank is found in.
func spans(counts []uint32, capacity int64) []span {
	var out []span
	first, entries := 0, int64(0)
	for w, count := range counts {
		if entries+int64(count) > capacity && w > first {
			out = append(out, span{rank(first), rank(w)})
			first, entries = w, 0
		}
		entries += int64(count)
	}
	return append(out, span{rank(first), rank(len(counts))})
}

// hold reads the lists of a span: once to count, once to fill.
func (g *rankedGraph) hold(ctx context.Context, s span, later bool) (*heldLists, error) {
	n := g.walker.nodes
	h := &heldLists{offsets: make([]int64, n+1)}
	part := func(worker int, adj *kv.Adjacency, i int) (rank, []rank) {
		u, list := g.row(worker, adj, i)
		from := s.lo
		if later {
			from = max(from, u+1)
		}
		if from > 0 {
			list = above(list, from-1)
		}
		if int(s.hi) < n {
			list = list[:len(list)-len(above(list, s.hi-1))]
		}
		return u, list
	}
	err := g.walker.walk(ctx, func(_ context.Context, worker int, adj *kv.Adjacency) error {
		for i := range int(adj.End - adj.First) {
			u, list := part(worker, adj, i)
			h.offsets[u+1] = int64(len(list))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for u := range n {
		h.offsets[u+1] += h.offsets[u]
	}
	if h.ranks, err = mapMemory[rank](int(h.offsets[n])); err != nil {
		return nil, fmt.Errorf("diagonal: memory for %d entries: %w", h.offsets[n], err)
	}
	err = g.walker.walk(ctx, func(_ context.Context, worker int, adj *kv.Adjacency) error {
		for i := range int(adj.End - adj.First) {
			u, list := part(worker, adj, i)
			if copy(h.of(u), list) != len(list) {
				return fmt.Errorf("%w: the list of node %d changed while it was read", ErrGraph, int(adj.First)+i)
			}
		}
		return nil
	})
	if err != nil {
		if freeErr := h.ranks.free(); freeErr != nil {
			err = errors.Join(err, freeErr)
		}
		return nil, err
	}
	return h, nil
}
