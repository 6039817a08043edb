package query

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// A sample asks for so many of the rows, drawn at random.
type sample struct{ size, seed *literal }

// String is " sample …", "" of no sample.
func (s *sample) String() string {
	if s == nil {
		return ""
	}
	text := " sample " + s.size.String()
	if s.seed != nil {
		text += " seed " + s.seed.String()
	}
	return text
}

// findSample finds the sample that clauses ask for, among the nodes of the statement that has neither sample nor limit.
func (q *query) findSample(ctx context.Context, asked clauses, of statement) (*finding, error) {
	d, limit := draw{seed: DefaultSeed}, math.MaxInt
	var err error
	if d.size, err = q.whole(*asked.sample.size, "a sample", 0, math.MaxInt); err != nil {
		return nil, err
	}
	if asked.sample.seed != nil {
		seed, err := q.whole(*asked.sample.seed, "a seed", 0, math.MaxInt)
		if err != nil {
			return nil, err
		}
		d.seed = cmp.Or(uint64(seed), DefaultSeed)
	}
	skip, most, err := q.cut(asked.limit, asked.offset)
	if err != nil {
		return nil, err
	}
	if most >= 0 && !asked.distinct() {
		limit = min(most, math.MaxInt-skip) + skip
	}
	found, err := q.find(ctx, of)
	if err != nil {
		return nil, err
	}
	all := found.nodes
	found.draw = &d
	found.nodes = func(ctx context.Context) iter.Seq2[kv.NodeID, error] {
		return func(yield func(kv.NodeID, error) bool) {
			nodes, err := d.from(all(ctx))
			if err != nil {
				yield(0, err)
				return
			}
			for _, n := range nodes[:min(limit, len(nodes))] {
				if !yield(n.node, nil) {
					return
				}
			}
		}
	}
	found.set, found.whole = found.nodes, false
	return found, nil
}

// A draw takes nodes at random, without replacement. Every node has a random number of its own, and those with the least numbers
// are taken. So the order of the nodes does not matter, and a larger sample of one seed has all nodes of a smaller one.
type draw struct {
	size int
	seed uint64
}

// streamSample tells the numbers of nodes from others of a seed.
const streamSample uint64 = 0x73616d706c65 // "sample"

// String reads "a random sample of up to 50 rows, seed 1".
func (d *draw) String() string {
	return fmt.Sprintf("a random sample of up to %s, seed %d", wording.Count(d.size, "row", "rows"), d.seed)
}

// A drawnNode is a node with its random number and its place among all nodes.
type drawnNode struct {
	key   uint64
	place int
	node  kv.NodeID
}

// from draws from nodes, and keeps their order. It holds at most twice as many as it takes.
func (d *draw) from(nodes iter.Seq2[kv.NodeID, error]) ([]drawnNode, error) {
	if d.size == 0 {
		return nil, nil
	}
	var kept []drawnNode
	byKey := func(a, b drawnNode) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.node, b.node)) }
	keepLeast := func() {
		slices.SortFunc(kept, byKey)
		kept = kept[:min(d.size, len(kept))]
	}
	var random rand.PCG
	var most *drawnNode // that could still be taken; nil while there is room
	place := 0
	for v, err := range nodes {
		if err != nil {
			return nil, err
		}
		random.Seed(d.seed^streamSample, uint64(v))
		n := drawnNode{random.Uint64(), place, v}
		place++
		if most != nil && byKey(n, *most) > 0 {
			continue
		}
		if kept = append(kept, n); len(kept)-d.size >= d.size {
			keepLeast()
			last := kept[len(kept)-1]
			most = &last
		}
	}
	keepLeast()
	slices.SortFunc(kept, func(a, b drawnNode) int { return cmp.Compare(a.place, b.place) })
	return kept, nil
}
