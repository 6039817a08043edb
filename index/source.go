package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/graphcleaner/graphcleaner/kv"
)

// lookUp finds nodes by external id.
func (r *reader) lookUp(ctx context.Context, ids []kv.Value) (*roaring.Bitmap, error) {
	set := roaring.New()
	for i, id := range ids {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		v, err := r.tx.Node(id.String())
		if errors.Is(err, kv.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		set.Add(uint32(v))
	}
	return set, nil
}

// A rangeScan finds the nodes whose value of an indexed column lies in ranges and satisfies accept.
type rangeScan struct {
	postings postings
	terms    Predicate  // the conditions that it stands for
	ranges   []keyRange // ascending, disjoint
	accept   Predicate  // nil: everything in the ranges
}

// groups yields what the scan accepts, in the order of values. Within a group nodes ascend; a group is borrowed until
// the next step.
func (s *rangeScan) groups(ctx context.Context, r *reader, reads *Reads, descending bool) iter.Seq2[group, error] {
	ranges, scan := s.ranges, s.postings.ascend
	if descending {
		ranges, scan = slices.Clone(ranges), s.postings.descend
		slices.Reverse(ranges)
	}
	return func(yield func(group, error) bool) {
		accept, steps := newAcceptor(r, s.accept, reads), 0
		for _, bounds := range ranges {
			for g, err := range scan(bounds) {
				if err == nil && steps%checkEvery == 0 {
					err = ctx.Err()
				}
				steps++
				if last := len(g.nodes) - 1; last >= 0 && int(g.nodes[last]) >= r.tx.NumNodes() {
					err = fmt.Errorf("an entry of node number %d of %d: %w", g.nodes[last], r.tx.NumNodes(), kv.ErrCorrupt)
					err = s.postings.wrap(err)
				}
				if reads.IndexEntries += int64(len(g.nodes)); err == nil {
					g.nodes, err = accept.keep(ctx, g)
				}
				if err != nil {
					yield(group{}, err)
					return
				}
				if len(g.nodes) > 0 && !yield(g, nil) {
					return
				}
			}
		}
	}
}

// nodes returns the set of these nodes, which is the caller's.
func (s *rangeScan) nodes(ctx context.Context, r *reader, reads *Reads) (*roaring.Bitmap, error) {
	set := roaring.New()
	var batch []uint32 // sorted batches go into the set many times faster than single nodes
	flush := func() {
		slices.Sort(batch)
		set.AddMany(batch)
		batch = batch[:0]
	}
	for g, err := range s.groups(ctx, r, reads, false) {
		if err != nil {
			return nil, err
		}
		for _, v := range g.nodes {
			batch = append(batch, uint32(v))
		}
		if len(batch) >= 1<<16 {
			flush()
		}
	}
	flush()
	return set, nil
}

// An acceptor decides by the value of an entry, which only for strings longer than their key must be read from the
// column.
type acceptor struct {
	test   evaluator // nil: accept all
	filter *filter
}

func newAcceptor(r *reader, accept Predicate, reads *Reads) *acceptor {
	if accept == nil {
		return &acceptor{}
	}
	return &acceptor{newEvaluator(accept, nil), newFilter(r, accept, reads)}
}

// keep returns the nodes of g that are accepted, in g's memory.
func (a *acceptor) keep(ctx context.Context, g group) ([]kv.NodeID, error) {
	if a.test == nil {
		return g.nodes, nil
	}
	kept := g.nodes[:0]
	if keyIsCut(g.key) {
		passed, err := a.filter.decide(ctx, g.nodes)
		for i, v := range g.nodes {
			if err == nil && passed[i] {
				kept = append(kept, v)
			}
		}
		return kept, err
	}
	value := decodeKey(g.key)
	row, err := a.test.keep(given(func(string) (kv.Value, error) { return value, nil }), []kv.NodeID{0})
	return g.nodes[:len(row)*len(g.nodes)], err
}
