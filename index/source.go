package index

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A source finds a set of nodes through the dictionary or an index, without looking at rows.
type source interface {
	// nodes returns the set, which is the caller's.
	nodes(ctx context.Context, r *reader, reads *Reads) (*roaring.Bitmap, error)

	// count returns the size of the set.
	count(ctx context.Context, r *reader, reads *Reads) (int64, error)

	// describe prints the source as the lines of a plan.
	describe(p *printer)
}

// A lookup finds nodes by external id.
type lookup struct {
	ids []kv.Value
}

func (l *lookup) nodes(ctx context.Context, r *reader, _ *Reads) (*roaring.Bitmap, error) {
	set := roaring.New()
	for i, id := range l.ids {
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

func (l *lookup) count(ctx context.Context, r *reader, reads *Reads) (int64, error) {
	return cardinality(l.nodes(ctx, r, reads))
}

func cardinality(set *roaring.Bitmap, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return int64(set.GetCardinality()), nil
}

// A rangeScan finds the nodes whose value of an indexed column lies in ranges and satisfies accept.
type rangeScan struct {
	postings postings
	terms    Predicate  // what it stands for
	ranges   []keyRange // ascending, disjoint
	accept   Predicate  // nil: everything in the ranges
}

// groups calls visit with what the scan accepts, in the order of values; visit returns false to stop. Within a
// group nodes ascend; the slices are borrowed for the call.
func (s *rangeScan) groups(
	ctx context.Context, r *reader, reads *Reads, descending bool, visit func(group) bool,
) error {
	accept := newAcceptor(r, s.accept, reads)
	ranges, scan := slices.Values(s.ranges), s.postings.ascend
	if descending {
		ranges, scan = backward(s.ranges), s.postings.descend
	}
	steps := 0
	for bounds := range ranges {
		for g, err := range scan(bounds) {
			if err != nil {
				return err
			}
			if steps%checkEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			steps++
			reads.IndexEntries += int64(len(g.nodes))
			if last := len(g.nodes) - 1; last >= 0 && int(g.nodes[last]) >= r.tx.NumNodes() {
				return s.postings.wrap(fmt.Errorf("an entry of node number %d of %d: %w", g.nodes[last], r.tx.NumNodes(), kv.ErrCorrupt))
			}
			if g.nodes, err = accept.keep(ctx, g); err != nil {
				return err
			}
			if len(g.nodes) > 0 && !visit(g) {
				return nil
			}
		}
	}
	return nil
}

func backward(ranges []keyRange) func(func(keyRange) bool) {
	return func(yield func(keyRange) bool) {
		for _, r := range slices.Backward(ranges) {
			if !yield(r) {
				return
			}
		}
	}
}

func (s *rangeScan) nodes(ctx context.Context, r *reader, reads *Reads) (*roaring.Bitmap, error) {
	set := roaring.New()
	var batch []uint32 // sorted batches go into the set many times faster than single nodes
	flush := func() {
		slices.Sort(batch)
		set.AddMany(batch)
		batch = batch[:0]
	}
	err := s.groups(ctx, r, reads, false, func(g group) bool {
		for _, v := range g.nodes {
			batch = append(batch, uint32(v))
		}
		if len(batch) >= 1<<16 {
			flush()
		}
		return true
	})
	flush()
	return set, err
}

func (s *rangeScan) count(ctx context.Context, r *reader, reads *Reads) (int64, error) {
	total := int64(0)
	err := s.groups(ctx, r, reads, false, func(g group) bool {
		total += int64(len(g.nodes))
		return true
	})
	return total, err
}

// An acceptor decides by the value of an entry, which only for strings longer than their key must be read from the
// column.
type acceptor struct {
	tests  []func(kv.Value) bool // nil: accept all
	filter *filter
}

func newAcceptor(r *reader, accept Predicate, reads *Reads) *acceptor {
	if accept == nil {
		return &acceptor{}
	}
	a := &acceptor{filter: newFilter(r, accept, reads)}
	for _, t := range terms(accept) {
		a.tests = append(a.tests, newTest(t))
	}
	return a
}

// keep returns the nodes of g that are accepted, in g's memory.
func (a *acceptor) keep(ctx context.Context, g group) ([]kv.NodeID, error) {
	if a.tests == nil {
		return g.nodes, nil
	}
	if keyIsCut(g.key) {
		passed, err := a.filter.decide(ctx, g.nodes)
		rest := g.nodes[:0]
		for i, v := range g.nodes {
			if err == nil && passed[i] {
				rest = append(rest, v)
			}
		}
		return rest, err
	}
	value := decodeKey(g.key)
	for _, test := range a.tests {
		if !test(value) {
			return nil, nil
		}
	}
	return g.nodes, nil
}
