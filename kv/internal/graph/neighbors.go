package graph

import (
	"fmt"
	"iter"

	"github.com/graphcleaner/graphcleaner/internal/gap"
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
	d, err := g.Directory()
	if err != nil {
		return 0, err
	}
	b := d.Find(v)
	block, err := g.lookupBlock(d, b, 0)
	if err != nil || d.Parts[b] > 1 {
		return block.entries, err
	}
	degree, err := block.Degree(int(v - d.Starts[b]))
	return degree, d.damaged(b, 0, err)
}

// damaged is the error of a part of block b that cannot be decoded; nil for none.
func (d *Directory) damaged(b int, part uint32, err error) error {
	if err == nil {
		return nil
	}
	return record.Corrupt(record.PairKey(record.KindAdjacency, d.Generation, uint32(b), part), err.Error())
}

// ReadDegrees fills dst, one number for each node of r, with their degrees. If len(dst) is not r.Len() it is an
// snapshot.ErrShape. Whole blocks are cheapest, but any range will do.
func (g *Graph) ReadDegrees(r record.Range, dst []uint32) error {
	if r.End < r.First || int(r.End) > g.Nodes || len(dst) != r.Len() {
		return fmt.Errorf("degrees of nodes %d to %d of %d into %d numbers: %w",
			r.First, r.End, g.Nodes, len(dst), snapshot.ErrShape)
	}
	d, err := g.Directory()
	if err != nil {
		return err
	}
	clear(dst)
	var degrees []uint32
	for b := d.Find(r.First); b < d.Blocks() && d.Starts[b] < r.End; b++ {
		err := g.readBlock(d, b, 0, func(block adjacencyBlock) (err error) {
			if d.Parts[b] > 1 {
				degrees = append(degrees[:0], uint32(block.entries))
				return nil
			}
			degrees, err = gap.AppendDegrees(degrees[:0], block.Block)
			return err
		})
		if err != nil {
			return err
		}
		from, to := max(r.First, d.Starts[b]), min(r.End, d.Starts[b+1])
		copy(dst[from-r.First:], degrees[from-d.Starts[b]:to-d.Starts[b]])
	}
	if g.Deltas == 0 {
		return nil
	}
	return g.addDegreeDeltas(r, dst)
}

// pieces yields the list of v, ascending, in one piece or, for a hub, in several, with arcs if they are asked for. A
// piece is borrowed until the next.
func (g *Graph) pieces(v record.NodeID, withArcs bool) iter.Seq2[*Adjacency, error] {
	return func(yield func(*Adjacency, error) bool) {
		changes, err := g.deltasOf(v)
		if err != nil {
			yield(nil, err)
			return
		}
		for piece, err := range g.loadedPieces(v, withArcs) {
			due := 0
			for n := len(piece.Neighbors); err == nil && n > 0 && due < len(changes) &&
				changes[due].V <= piece.Neighbors[n-1]; {
				due++
			}
			if err == nil && due > 0 {
				piece.Offsets = append(piece.Offsets[:0], 0, int64(len(piece.Neighbors)))
				err = piece.Apply(changes[:due], withArcs)
			}
			if !yield(piece, err) || err != nil {
				return
			}
			changes = changes[due:]
		}
		if len(changes) > 0 {
			rest := new(Adjacency)
			rest.Clear(record.Range{First: v, End: v + 1})
			err = rest.Apply(changes, withArcs)
			yield(rest, err)
		}
	}
}

// loadedPieces is pieces of the blocks alone.
func (g *Graph) loadedPieces(v record.NodeID, withArcs bool) iter.Seq2[*Adjacency, error] {
	return func(yield func(*Adjacency, error) bool) {
		if int(v) >= g.LoadedNodes {
			return
		}
		piece := &Adjacency{Range: record.Range{First: v, End: v + 1}}
		d, err := g.Directory()
		if err != nil {
			yield(piece, err)
			return
		}
		b := d.Find(v)
		for part := range d.Parts[b] {
			err := g.lookupList(d, b, part, piece, withArcs)
			if !yield(piece, err) || err != nil {
				return
			}
		}
	}
}

// lookupList reads the list of one node, whose range piece has, from one part of block b.
func (g *Graph) lookupList(d *Directory, b int, part uint32, piece *Adjacency, withArcs bool) error {
	block, err := g.lookupBlock(d, b, part)
	if err != nil {
		return err
	}
	row := int(piece.First - d.Starts[b])
	piece.Neighbors, err = gap.AppendRow(piece.Neighbors[:0], block.Block, row)
	if err != nil {
		return d.damaged(b, part, err)
	}
	if !withArcs {
		return nil
	}
	degrees, err := gap.AppendDegrees([]uint32(nil), block.Block)
	if err != nil {
		return d.damaged(b, part, err)
	}
	before := 0
	for _, degree := range degrees[:row] {
		before += int(degree)
	}
	name := snapshot.Name{Kind: record.KindArcs, Generation: d.Generation, A: uint32(b), B: part}
	body, err := snapshot.Lookup(g.Records, name)
	if err != nil {
		return err
	}
	piece.arcs, err = g.Form.AppendArcs(piece.arcs[:0], body, block.Entries())
	if err != nil {
		return record.Corrupt(name.Key(), err.Error())
	}
	if len(piece.arcs) != block.Entries() || before+len(piece.Neighbors) > len(piece.arcs) {
		return d.tooFew(b, len(piece.arcs), block.Entries())
	}
	piece.arcs = append(piece.arcs[:0], piece.arcs[before:before+len(piece.Neighbors)]...)
	return nil
}

// NeighborsAlong yields the neighbours of v along a direction, ascending. On failure it yields the error once, and
// stops.
func (g *Graph) NeighborsAlong(along Direction, v record.NodeID) iter.Seq2[record.NodeID, error] {
	return func(yield func(record.NodeID, error) bool) {
		for piece, err := range g.pieces(v, along != Both) {
			if err != nil {
				yield(0, err)
				return
			}
			for i, u := range piece.Neighbors {
				if along != Both {
					if w, _ := g.weight(along, piece.arcs[i]); w == 0 {
						continue
					}
				}
				if !yield(u, nil) {
					return
				}
			}
		}
	}
}

// Arcs yields the neighbours of v, ascending, with what joins them. On failure it yields the error once, and stops.
func (g *Graph) Arcs(v record.NodeID) iter.Seq2[Arc, error] {
	return func(yield func(Arc, error) bool) {
		form := g.Form.Any()
		for piece, err := range g.pieces(v, form) {
			if err != nil {
				yield(Arc{}, err)
				return
			}
			for i, u := range piece.Neighbors {
				a := Arc{u, 1, 1}
				if form {
					a.Out, a.In = piece.arcs[i].Out, piece.arcs[i].In
				}
				if !yield(a, nil) {
					return
				}
			}
		}
	}
}
