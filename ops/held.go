package ops

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// A span is the ranks lo ≤ x < hi.
type span struct{ lo, hi rank }

func (s span) len() int { return int(s.hi - s.lo) }

// heldLists are lists of neighbours in memory, ascending, of the ranks from first on. Offsets of 32 bits bound them to
// maxHeldEntries.
type heldLists struct {
	first   rank
	offsets offheap.Array[uint32]
	ranks   offheap.Array[rank]
}

const maxHeldEntries = 1<<32 - 1

func (h *heldLists) of(u rank) []rank {
	i := u - h.first
	return h.ranks.Data[h.offsets.Data[i]:h.offsets.Data[i+1]]
}

func (h *heldLists) free() error { return joinErrors(h.offsets.Free(), h.ranks.Free()) }

// newHeldLists makes room for the lists of a span, given their lengths.
func newHeldLists(s span, length func(u rank) uint32) (h *heldLists, err error) {
	h = &heldLists{first: s.lo}
	if h.offsets, err = offheap.New[uint32](s.len() + 1); err != nil {
		return nil, fmt.Errorf("diagonal: offsets of %d nodes: %w", s.len(), err)
	}
	entries := int64(0)
	for i := range s.len() {
		entries += int64(length(s.lo + rank(i)))
		h.offsets.Data[i+1] = uint32(entries)
	}
	if entries > maxHeldEntries {
		return nil, joinErrors(fmt.Errorf("%w: got %d adjacency entries to hold, want at most %d",
			ErrShape, entries, maxHeldEntries), h.free())
	}
	if h.ranks, err = offheap.New[rank](int(entries)); err != nil {
		return nil, joinErrors(fmt.Errorf("diagonal: %d entries: %w", entries, err), h.free())
	}
	return h, nil
}

// heldSpans cuts the ranks from first on so that heldLists of these lengths take at most so many bytes, or are one.
func heldSpans(lengths []uint32, first int, capacity int64) []span {
	var out []span
	bytes := heldBytes(0)
	for y := first; y < len(lengths); y++ {
		bytes += heldBytes(int64(lengths[y]))
		if bytes > capacity && y > first {
			out = append(out, span{rank(first), rank(y)})
			first, bytes = y, heldBytes(0)+heldBytes(int64(lengths[y]))
		}
	}
	if first < len(lengths) {
		out = append(out, span{rank(first), rank(len(lengths))})
	}
	return out
}

// heldBytes is the memory of a list of so many entries in heldLists.
func heldBytes(entries int64) int64 { return 4*entries + 4 }

// holdBefore reads the neighbours before y of every y of a span, given their numbers [n].
func (g *rankedGraph) holdBefore(ctx context.Context, s span, before []uint32) (*heldLists, error) {
	h, err := newHeldLists(s, func(y rank) uint32 { return before[y] })
	if err != nil {
		return nil, err
	}
	err = g.walk(ctx, s, nil, func(_ context.Context, _ int, y rank, list []rank) error {
		list = kernel.Below(list, y)
		own := h.of(y)
		if len(own) != len(list) {
			return fmt.Errorf("%w: the list of rank %d changed while it was read", ErrGraph, y)
		}
		copy(own, list)
		return nil
	})
	if err != nil {
		return nil, joinErrors(err, h.free())
	}
	return h, nil
}

// heldRows are some rows of A in memory.
type heldRows struct {
	first   kv.NodeID
	offsets []int64
	nodes   offheap.Array[kv.NodeID]
	weights offheap.Array[float32] // empty where all are 1
}

// of returns the row of u, and its weights or nil.
func (h *heldRows) of(u kv.NodeID) ([]kv.NodeID, []float32) {
	i := u - h.first
	from, to := h.offsets[i], h.offsets[i+1]
	if h.weights.Data == nil {
		return h.nodes.Data[from:to], nil
	}
	return h.nodes.Data[from:to], h.weights.Data[from:to]
}

func (h *heldRows) free() error { return errors.Join(h.nodes.Free(), h.weights.Free()) }

// hold reads the rows r.
func (job *walkJob) hold(ctx context.Context, r kv.Range) (h *heldRows, err error) {
	w := job.walker
	h = &heldRows{first: r.First, offsets: make([]int64, r.Len()+1)}
	for i, length := range job.survey.degrees[r.First:r.End] {
		h.offsets[i+1] = h.offsets[i] + int64(length)
	}
	defer func() {
		if err != nil {
			err = joinErrors(err, h.free())
		}
	}()
	entries := int(h.offsets[len(h.offsets)-1])
	if h.nodes, err = offheap.New[kv.NodeID](entries); err != nil {
		return h, fmt.Errorf("diagonal: %d entries: %w", entries, err)
	}
	if job.survey.Weighted {
		if h.weights, err = offheap.New[float32](entries); err != nil {
			return h, fmt.Errorf("diagonal: %d weights: %w", entries, err)
		}
	}
	err = parallel.Do(ctx, len(w.bufs), len(w.blocks), func(_ context.Context, worker, block int) error {
		if b := w.blocks[block]; b.End <= r.First || b.First >= r.End {
			return nil
		}
		adj := &w.bufs[worker]
		if err := w.read(block, adj); err != nil {
			return err
		}
		for u := max(adj.First, r.First); u < min(adj.End, r.End); u++ {
			nodes, weights := h.of(u)
			if len(adj.Of(u)) != len(nodes) {
				return fmt.Errorf("%w: the list of node %d changed while it was read", ErrGraph, u)
			}
			copy(nodes, adj.Of(u))
			copy(weights, kernel.WeightsOf(adj, int(u-adj.First)))
		}
		return nil
	})
	return h, err
}

// joinErrors joins two errors, and returns the first as it is if there is no other.
func joinErrors(err, other error) error {
	if other == nil {
		return err
	}
	return errors.Join(err, other)
}
