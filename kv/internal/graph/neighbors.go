package graph

import (
	"fmt"
	"iter"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/gap"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// Degree is the number of neighbours of v.
func (g *Graph) Degree(v record.NodeID) (int, error) {
	degree, err := g.loadedDegree(v)
	if err != nil || g.Deltas == 0 {
		return degree, err
	}
	change, err := g.DegreeDelta(v)
	return degree + int(change.Degree), err
}

// loadedDegree is the degree of v in the blocks.
func (g *Graph) loadedDegree(v record.NodeID) (int, error) {
	if int(v) >= g.LoadedNodes {
		return 0, nil
	}
	d, b, block, err := g.lookupBlock(v)
	if err != nil {
		return 0, err
	}
	degree, err := block.Degree(int(v - d.Starts[b]))
	return degree, d.damaged(b, err)
}

// damaged is the error of a block that cannot be decoded; nil for none.
func (p *Partition) damaged(b int, err error) error {
	if err == nil {
		return nil
	}
	return record.Corrupt(p.name(record.KindAdjacency, b).Key(), err.Error())
}

// ReadDegrees fills dst, one number for each node of r, with their degrees. If len(dst) is not r.Len() it is an
// snapshot.ErrShape. Whole blocks are cheapest, but any range will do.
func (g *Graph) ReadDegrees(r record.Range, dst []uint32) error {
	if r.End < r.First || int(r.End) > g.Nodes || len(dst) != r.Len() {
		return fmt.Errorf("degrees of nodes %d to %d of %d into %d numbers: %w",
			r.First, r.End, g.Nodes, len(dst), snapshot.ErrShape)
	}
	p, err := g.Partition()
	if err != nil {
		return err
	}
	clear(dst)
	var degrees []uint32
	for b := p.Find(r.First); b < p.Blocks() && p.Starts[b] < r.End; b++ {
		err := g.readBlock(p, b, func(block gap.Block, _ int) (err error) {
			degrees, err = gap.AppendDegrees(degrees[:0], block)
			return err
		})
		if err != nil {
			return err
		}
		from, to := max(r.First, p.Starts[b]), min(r.End, p.Starts[b+1])
		copy(dst[from-r.First:], degrees[from-p.Starts[b]:to-p.Starts[b]])
	}
	if g.Deltas == 0 {
		return nil
	}
	return g.addDegreeDeltas(r, dst)
}

// List reads the list of v into buf, which it makes one of v alone.
func (g *Graph) List(v record.NodeID, buf *Adjacency) error { return g.list(v, buf, false) }

// Arcs yields the neighbours of v, ascending, with what joins them. On failure it yields the error once, and stops.
func (g *Graph) Arcs(v record.NodeID) iter.Seq2[Arc, error] {
	return func(yield func(Arc, error) bool) {
		var list Adjacency
		if err := g.list(v, &list, g.Form.Any()); err != nil {
			yield(Arc{}, err)
			return
		}
		for u, a := range list.Edges(v) {
			if !yield(Arc{u, a.Out, a.In}, nil) {
				return
			}
		}
	}
}

// list reads the list of v, with arcs if they are asked for.
func (g *Graph) list(v record.NodeID, buf *Adjacency, withArcs bool) error {
	deltas, err := g.deltasOf(v)
	if err != nil {
		return err
	}
	if err := g.loadedList(v, buf, withArcs); err != nil {
		return err
	}
	if len(deltas) > 0 {
		buf.Apply(deltas, withArcs)
	}
	return nil
}

// loadedList is list of the blocks alone.
func (g *Graph) loadedList(v record.NodeID, buf *Adjacency, withArcs bool) error {
	buf.Clear(record.Range{First: v, End: v + 1})
	if int(v) >= g.LoadedNodes {
		return nil
	}
	d, b, block, err := g.lookupBlock(v)
	if err != nil {
		return err
	}
	row := int(v - d.Starts[b])
	if buf.Neighbors, err = gap.AppendRow(buf.Neighbors, block, row); err != nil {
		return d.damaged(b, err)
	}
	if buf.Offsets[1] = int64(len(buf.Neighbors)); withArcs {
		buf.arcs, err = g.lookupArcs(d, b, block, row)
	}
	return err
}

// lookupArcs returns the arcs of a row of block b.
func (g *Graph) lookupArcs(p *Partition, b int, block gap.Block, row int) ([]codec.Arc, error) {
	degrees, err := gap.AppendDegrees([]uint32(nil), block)
	if err != nil {
		return nil, p.damaged(b, err)
	}
	name := p.name(record.KindArcs, b)
	body, err := snapshot.LookupChain(g.Records, name)
	if err != nil {
		return nil, err
	}
	before := 0
	for _, degree := range degrees[:row] {
		before += int(degree)
	}
	arcs, err := g.Form.AppendArcs(nil, body, block.Entries())
	end := before + int(degrees[row])
	if err == nil && len(arcs) < max(end, block.Entries()) {
		err = fmt.Errorf("it holds the arcs of %d neighbours, want %d", len(arcs), block.Entries())
	}
	if err != nil {
		return nil, record.Corrupt(name.Key(), err.Error())
	}
	return slices.Clone(arcs[before:end]), nil
}

// loadedArc is the arc in the blocks that joins u to v.
func (g *Graph) loadedArc(u, v record.NodeID) (codec.Arc, error) {
	// The later node has the shorter list, as the load numbers nodes.
	later, earlier := max(u, v), min(u, v)
	var list Adjacency
	if err := g.loadedList(later, &list, g.Form.Any()); err != nil {
		return codec.Arc{}, err
	}
	a := list.Arc(later, earlier)
	if later != u {
		a = a.Reversed()
	}
	return a, nil
}
