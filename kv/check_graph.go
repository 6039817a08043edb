package kv

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// adjacency checks that every list, with what changed since the load, can be read, which the codec has ascend; that
// nodes count what changed; that each edge is under both its ends, which two nodes are; and that there are as many as
// the catalogue says.
func (c *checker) adjacency(ctx context.Context) error {
	d, err := c.tx.graph().Partition()
	if err != nil {
		return err
	}
	form := c.tx.cat.arcForm()
	c.count(record.KindAdjacency, d.Blocks())
	c.count(record.KindArcs, d.Blocks()*codec.Bit(form.Any()))
	c.count(record.KindAdjacencyPartition, min(1, d.Blocks()))
	c.count(record.KindEdgeDelta, 2*int(c.tx.cat.EdgeDeltas))
	c.count(record.KindDegreeDelta, c.scan.deltaNodes)
	blocks, err := c.tx.AdjacencyBlocks()
	if err != nil {
		return err
	}
	// The hashes in the lists of the lesser ends and in those of the greater ones agree if the same edges are under both.
	var lesser, greater fingerprint
	entries, arcs := int64(0), int64(0)
	var lists Adjacency
	var degrees []uint32
	told := c.told
	for _, r := range blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := c.tx.graph().Read(r, &lists, true)
		if err == nil && c.tx.cat.EdgeDeltas > 0 {
			degrees = slices.Grow(degrees[:0], r.Len())[:r.Len()]
			err = c.tx.graph().ReadDegrees(r, degrees)
		}
		if err != nil {
			if err := c.found("adjacency", err); err != nil {
				return err
			}
			continue
		}
		for v := r.First; v < r.End; v++ {
			if n := len(lists.Of(v)); len(degrees) > 0 && n != int(degrees[v-r.First]) {
				c.problem("degree deltas", "node number %d has %d neighbours, and counts %d", v, n, degrees[v-r.First])
			}
			entries += int64(len(lists.Of(v)))
			if c.removed.Has(v) && len(lists.Of(v)) > 0 {
				c.problem("adjacency", "node number %d was removed, and has neighbours", v)
			}
			for u, a := range lists.Edges(v) {
				if _, ok := a.Sum(); form.Directed && !ok {
					c.problem("arcs", "the weights %v and %v of node number %d have no sum", a.Out, a.In, v)
				}
				if v < u {
					lesser.add(pairNumber(v, u), a.Bits())
				} else {
					greater.add(pairNumber(u, v), a.Reversed().Bits())
				}
				arcs += a.Count()
			}
		}
	}
	if c.told > told {
		return nil // what follows would only say the same again
	}
	if entries != 2*c.tx.cat.Edges {
		c.problem("adjacency", "the lists hold %d entries, want twice the %d edges", entries, c.tx.cat.Edges)
	}
	if form.Directed && arcs != 2*c.tx.cat.Arcs {
		c.problem("arcs", "the lists hold %d arcs, want twice the %d that the catalogue counts", arcs, c.tx.cat.Arcs)
	}
	if lesser != greater {
		c.problem("adjacency", "some edge is in the list of one of its ends only, or its ends have other arcs or weights")
	}
	return nil
}

// dictionary checks that all of it is there, that its numbers agree, and each id by itself.
func (c *checker) dictionary(ctx context.Context) error {
	cat := c.tx.cat
	blocks := func(rows int) int { return (cat.LoadedNodes + rows - 1) / rows }
	c.count(record.KindNodeAt, blocks(dict.NumbersPerBlock))
	c.count(record.KindPosition, blocks(dict.NumbersPerBlock))
	added := cat.Nodes - cat.LoadedNodes
	for v := cat.LoadedNodes; v < cat.Nodes; v++ {
		added -= codec.Bit(c.removed.Has(NodeID(v)))
	}
	if c.scan.removed != cat.Removed {
		c.problem("removed nodes", "there are %d, want %d", c.scan.removed, cat.Removed)
	}
	c.count(record.KindAddedNode, added)
	c.count(record.KindAddedID, added)
	if cat.DenseIDs {
		c.count(record.KindIDs, 0)
		c.count(record.KindIDLookup, 0)
	} else {
		c.count(record.KindIDs, blocks(dict.IDsPerBlock))
		c.count(record.KindIDLookup, dict.Buckets(cat.LoadedNodes))
	}
	if err := c.numbers(ctx); err != nil {
		return err
	}
	return c.ids(ctx)
}

// numbers reads every block of the two directions between the positions and the NodeIDs of the load, which must have
// the same pairs.
func (c *checker) numbers(ctx context.Context) error {
	var block []uint32
	var pairs [2]fingerprint
	told := c.told
	for first := 0; first < c.tx.cat.LoadedNodes; first += dict.NumbersPerBlock {
		for way, k := range []record.Kind{record.KindNodeAt, record.KindPosition} {
			var err error
			block, err = c.tx.dict().Numbers(k, first/dict.NumbersPerBlock, block[:0])
			if err := c.found("dictionary", cmp.Or(ctx.Err(), err)); err != nil {
				return err
			}
			for i, number := range block {
				pair := [2]NodeID{NodeID(first + i), NodeID(number)}
				pairs[way].add(pairNumber(pair[way], pair[1-way]), 0)
			}
		}
	}
	if pairs[0] != pairs[1] && c.told == told {
		c.problem("dictionary", "the nodes at the places in the node file have other places")
	}
	return nil
}

// ids checks every id by itself, and that looking it up finds a node that was added since the load.
func (c *checker) ids(ctx context.Context) error {
	cat, ids := c.tx.cat, c.tx.dict().Reader()
	for position := range cat.Nodes {
		if position%record.ContextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		isAdded := position >= cat.LoadedNodes
		if isAdded && c.removed.Has(NodeID(position)) {
			continue
		}
		id, err := ids.AtPosition(position)
		if err == nil && id == "" && cat.Unnamed > 0 {
			var v NodeID
			if v, err = ids.NodeAt(position); err == nil && c.removed.Has(v) {
				continue
			}
		}
		if err == nil {
			err = validateID(id)
		}
		if err == nil && isAdded {
			var found int
			if found, err = c.tx.dict().Position(id); err == nil && found != position {
				err = fmt.Errorf("%w: looking up %q does not find node number %d", ErrCorrupt, id, position)
			}
		}
		if err := c.found("dictionary", err); err != nil {
			return err
		}
	}
	return nil
}

// A fingerprint is a sum of 128-bit hashes of pairs, the same in any order: two that agree are of the same pairs.
type fingerprint struct{ low, high uint64 }

func (f *fingerprint) add(a, b uint64) {
	// Two multiplications by odd constants, folded: each half depends on every bit of the pair.
	high, low := bits.Mul64(a^0x9e3779b97f4a7c15, b<<1^0xa0761d6478bd642f)
	first := high ^ low
	high, low = bits.Mul64(a^0xe7037ed1a0b428db, first|1)
	var carry uint64
	f.low, carry = bits.Add64(f.low, first, 0)
	f.high, _ = bits.Add64(f.high, high^low, carry)
}
