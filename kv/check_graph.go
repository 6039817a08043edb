package kv

import (
	"context"
	"fmt"
	"iter"

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
	var sums edgeSums
	var lists Adjacency
	damaged := false
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
		for v := r.First; v < r.End; v++ {
			if where, what := wrongList(&lists, v, form); what != "" {
				c.problem(where, "%s", what)
			}
			if c.removed.Has(v) && len(lists.Of(v)) > 0 {
				c.problem("adjacency", "node number %d was removed, and has neighbours", v)
			}
			for u, a := range edgesOf(&lists, v) {
				sums.add(v, u, a)
			}
		}
	}
	if damaged {
		return nil // what follows would only say the same again
	}
	if sums.entries != 2*c.tx.cat.Edges {
		c.problem("adjacency", "the lists hold %d entries, want twice the %d edges", sums.entries, c.tx.cat.Edges)
	}
	if form.Directed && sums.arcs != 2*c.tx.cat.Arcs {
		c.problem("arcs", "the lists hold %d arcs, want twice the %d that the catalogue counts", sums.arcs, c.tx.cat.Arcs)
	}
	if !sums.agree() {
		c.problem("adjacency", "some edge is in the list of one of its ends only, or its ends have other arcs or weights")
	}
	return nil
}

// edgesOf yields the neighbours of v with the arcs to them, which are 1 if the graph has none.
func edgesOf(a *graph.Adjacency, v NodeID) iter.Seq2[NodeID, codec.Arc] {
	return func(yield func(NodeID, codec.Arc) bool) {
		arcs := a.ArcsOf(v)
		for i, u := range a.Of(v) {
			arc := codec.Arc{Out: 1, In: 1}
			if len(arcs) > 0 {
				arc = arcs[i]
			}
			if !yield(u, arc) {
				return
			}
		}
	}
}

// wrongList says what is wrong with the list of v, or its arcs; "" for nothing.
func wrongList(a *graph.Adjacency, v NodeID, form codec.ArcForm) (where, what string) {
	previous := int64(-1)
	for u, arc := range edgesOf(a, v) {
		switch _, ok := arc.Sum(); {
		case u == v:
			return "adjacency", fmt.Sprintf("node number %d is its own neighbour", v)
		case int64(u) <= previous:
			return "adjacency", fmt.Sprintf("node number %d has neighbour %d after %d", v, u, previous)
		case form.Directed && !ok:
			return "arcs", fmt.Sprintf("between nodes number %d and %d the weights are %v and %v, without a sum", v, u, arc.Out,
				arc.In)
		}
		previous = int64(u)
	}
	return "", ""
}

// edgeSums are sums over the entries of lists. An edge is told by a 128-bit hash of its two ends and their arcs. The
// hashes in the lists of the lesser ends and in those of the greater ones agree if the same edges are under both.
type edgeSums struct {
	lesser, greater fingerprint
	entries, arcs   int64
}

// add adds an entry of the list of v.
func (s *edgeSums) add(v, u NodeID, a codec.Arc) {
	s.entries++
	s.arcs += a.Count()
	if v < u {
		s.lesser.add(edgeKey(v, u), a.Bits())
	} else {
		s.greater.add(edgeKey(u, v), a.Reversed().Bits())
	}
}

func (s *edgeSums) agree() bool { return s.lesser == s.greater }

// edgeDeltas checks that each edge delta is under both ends, and that nodes count theirs.
func (c *checker) edgeDeltas(ctx context.Context) error {
	cat := c.tx.cat
	if c.scan.counts[record.KindEdgeDelta] != 2*cat.EdgeDeltas {
		c.problem("edge deltas", "there are %d, want twice the %d that the catalogue counts",
			c.scan.counts[record.KindEdgeDelta], cat.EdgeDeltas)
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
			c.problem("degree deltas", "node number %d counts %d, which change its degree by %d, want %d and %d",
				last, got.Deltas, got.Degree, counted.Deltas, counted.Degree)
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
		back, err := c.tx.graph().Pair(d.V, d.U)
		if err != nil {
			return err
		}
		if back.Arc != d.Arc.Reversed() {
			c.problem(record.Describe(r.Key), "the other end of the edge says otherwise")
		}
		if int64(d.U) != last {
			if err := finish(); err != nil {
				return err
			}
			last, counted = int64(d.U), graph.DegreeDelta{}
		}
		counted.Deltas++
		counted.Degree += back.Counts().Degree
	}
	if err := finish(); err != nil {
		return err
	}
	if c.scan.counts[record.KindDegreeDelta] != counts {
		c.problem("degree deltas", "there are %d, want %d", c.scan.counts[record.KindDegreeDelta], counts)
	}
	return nil
}

// edgeKey is two nodes as one number.
func edgeKey(u, v NodeID) uint64 { return uint64(u)<<32 | uint64(v) }
