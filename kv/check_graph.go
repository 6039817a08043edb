package kv

import (
	"context"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// adjacency checks that every list is in order and without its own node, which the codec and this see to; that each
// edge is under both its ends; and that there are as many as the catalogue says.
func (c *checker) adjacency(ctx context.Context) error {
	d, err := c.tx.graph().Directory()
	if err != nil {
		return err
	}
	parts := 0
	for _, n := range d.Parts {
		parts += int(n)
	}
	form := c.tx.cat.arcForm()
	c.count(record.KindAdjacency, parts)
	c.count(record.KindArcs, parts*codec.Bit(form.Any()))
	c.count(record.KindAdjacencyDirectory, (d.Blocks()+graph.DirectoryChunk-1)/graph.DirectoryChunk)
	blocks, err := c.tx.AdjacencyBlocks()
	if err != nil {
		return err
	}
	// An edge is told by a 128-bit hash of its two ends and their arcs. Summed once over the lists of the lesser ends and once over
	// those of the greater ones, the hashes agree when the same edges are under both.
	var lesser, greater fingerprint
	var lists Adjacency
	entries, arcs, damaged := int64(0), int64(0), false
	for _, r := range blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := c.tx.graph().ReadLists(r, &lists)
		if err := c.found("adjacency", err); err != nil {
			return err
		}
		if err != nil {
			damaged = true
			continue
		}
		for u := r.First; u < r.End; u++ {
			previous := int64(-1)
			of := lists.ArcsOf(u)
			for i, v := range lists.Of(u) {
				a := codec.Arc{Out: 1, In: 1}
				if form.Any() {
					a = of[i]
				}
				if _, ok := a.Sum(); form.Directed && !ok {
					c.problem("arcs", "between nodes number %d and %d the weights are %v and %v, without a sum", u, v, a.Out, a.In)
				}
				arcs += a.Count()
				switch {
				case v == u:
					c.problem("adjacency", "node number %d is its own neighbour", u)
				case int64(v) <= previous:
					c.problem("adjacency", "node number %d has neighbour %d after %d", u, v, previous)
				case u < v:
					lesser.add(edgeKey(u, v), a.Bits())
				default:
					greater.add(edgeKey(v, u), a.Reversed().Bits())
				}
				previous = int64(v)
			}
		}
		entries += int64(len(lists.Neighbors))
	}
	if damaged {
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

// edgeDeltas checks that each edge delta is under both ends, and that nodes count theirs.
func (c *checker) edgeDeltas(ctx context.Context) error {
	cat := c.tx.cat
	if c.counts[record.KindEdgeDelta] != 2*cat.EdgeDeltas {
		c.problem("edge deltas", "there are %d, want twice the %d that the catalogue counts", c.counts[record.KindEdgeDelta], cat.EdgeDeltas)
	}
	var counted graph.DegreeDelta
	last, counts, done := int64(-1), int64(0), 0
	finish := func() error {
		if last < 0 {
			return nil
		}
		counts++
		got, err := c.tx.graph().DegreeDelta(NodeID(last))
		if err == nil && got != counted {
			c.problem("degree deltas", "node number %d counts %d edges added, %d removed and %d changed, want %d, %d and %d",
				last, got.Added, got.Removed, got.Changed, counted.Added, counted.Removed, counted.Changed)
		}
		return err
	}
	prefix := record.Prefix(record.KindEdgeDelta, cat.Graph)
	for r, err := range c.tx.records().Scan(prefix, nil) {
		if err != nil {
			return err
		}
		if done++; done%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		d, err := c.tx.graph().ParseDelta(r)
		if err != nil {
			return err
		}
		if int64(max(d.U, d.V)) >= int64(cat.Nodes) || d.U == d.V {
			c.problem(record.Describe(r.Key), "there is no such edge")
			continue
		}
		if back, err := c.tx.graph().Delta(d.V, d.U); err != nil || back.Change != d.Change || back.Arc != d.Arc.Reversed() {
			if err != nil {
				return err
			}
			c.problem(record.Describe(r.Key), "the other end of the edge says otherwise")
		}
		if int64(d.U) != last {
			if err := finish(); err != nil {
				return err
			}
			last, counted = int64(d.U), graph.DegreeDelta{}
		}
		counted.Count(d.Change, 1)
	}
	if err := finish(); err != nil {
		return err
	}
	if c.counts[record.KindDegreeDelta] != counts {
		c.problem("degree deltas", "there are %d, want %d", c.counts[record.KindDegreeDelta], counts)
	}
	return nil
}

// edgeKey is two nodes as one number.
func edgeKey(u, v NodeID) uint64 { return uint64(u)<<32 | uint64(v) }
