package kv

import (
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/graphcleaner/graphcleaner/kv/internal/gap"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// An Edge is an undirected edge with U < V.
type Edge struct{ U, V NodeID }

// Degree is the number of neighbours of v.
func (tx *Tx) Degree(v NodeID) (int, error) {
	if err := tx.checkNode(v); err != nil {
		return 0, err
	}
	degree, err := tx.loadedDegree(v)
	if err != nil || tx.cat.EdgeDeltas == 0 {
		return degree, err
	}
	change, err := tx.degreeDelta(v)
	return degree + change.added - change.removed, err
}

// loadedDegree is the degree of v in the blocks.
func (tx *Tx) loadedDegree(v NodeID) (int, error) {
	if int(v) >= tx.cat.LoadedNodes {
		return 0, nil
	}
	d, err := tx.directory()
	if err != nil {
		return 0, err
	}
	b := d.find(v)
	block, err := tx.lookupBlock(d, b, 0)
	if err != nil || d.parts[b] > 1 {
		return block.entries, err
	}
	degree, err := block.Degree(int(v - d.starts[b]))
	return degree, d.damaged(b, 0, err)
}

// damaged is the error of a part of block b that cannot be decoded; nil for none.
func (d *directory) damaged(b int, part uint32, err error) error {
	if err == nil {
		return nil
	}
	return record.Corrupt(record.PairKey(record.KindAdjacency, d.generation, uint32(b), part), err.Error())
}

// ReadDegrees fills dst, one number for each node of r, with their degrees. Where len(dst) is not r.Len() it is an
// ErrShape. Whole blocks are cheapest, but any range will do.
func (tx *Tx) ReadDegrees(r Range, dst []uint32) error {
	if err := tx.Err(); err != nil {
		return err
	}
	if r.End < r.First || int(r.End) > tx.cat.Nodes || len(dst) != r.Len() {
		return fmt.Errorf("degrees of nodes %d to %d of %d into %d numbers: %w",
			r.First, r.End, tx.cat.Nodes, len(dst), ErrShape)
	}
	d, err := tx.directory()
	if err != nil {
		return err
	}
	clear(dst)
	var degrees []uint32
	for b := d.find(r.First); b < d.blocks() && d.starts[b] < r.End; b++ {
		err := tx.readBlock(d, b, 0, func(block adjacencyBlock) (err error) {
			if d.parts[b] > 1 {
				degrees = append(degrees[:0], uint32(block.entries))
				return nil
			}
			degrees, err = gap.AppendDegrees(degrees[:0], block.Block)
			return err
		})
		if err != nil {
			return err
		}
		from, to := max(r.First, d.starts[b]), min(r.End, d.starts[b+1])
		copy(dst[from-r.First:], degrees[from-d.starts[b]:to-d.starts[b]])
	}
	if tx.cat.EdgeDeltas == 0 {
		return nil
	}
	return tx.addDegreeDeltas(r, dst)
}

// HasEdge reports whether u and v are neighbours. It is symmetric.
func (tx *Tx) HasEdge(u, v NodeID) (bool, error) {
	for _, w := range []NodeID{u, v} {
		if err := tx.checkNode(w); err != nil {
			return false, err
		}
	}
	if tx.cat.EdgeDeltas > 0 {
		if d, err := tx.edgeDelta(u, v); err != nil || d.change != edgeKept {
			return err == nil && d.change != edgeRemoved, err
		}
	}
	return tx.hasLoadedEdge(u, v)
}

// hasLoadedEdge looks into the blocks alone.
func (tx *Tx) hasLoadedEdge(u, v NodeID) (bool, error) {
	// The later node has the shorter list, as the load numbers nodes.
	u, v = max(u, v), min(u, v)
	if int(u) >= tx.cat.LoadedNodes {
		return false, nil
	}
	d, err := tx.directory()
	if err != nil {
		return false, err
	}
	b := d.find(u)
	part, err := tx.findPart(d, b, v)
	if err != nil {
		return false, err
	}
	block, err := tx.lookupBlock(d, b, part)
	if err != nil {
		return false, err
	}
	has, err := block.Contains(int(u-d.starts[b]), uint32(v))
	return has, d.damaged(b, part, err)
}

// findPart returns the only part of block b that may hold neighbour v: the last one that does not begin beyond it.
func (tx *Tx) findPart(d *directory, b int, v NodeID) (uint32, error) {
	if d.parts[b] == 1 {
		return 0, nil
	}
	var failed error
	beyond := sort.Search(int(d.parts[b]), func(part int) bool {
		block, err := tx.lookupBlock(d, b, uint32(part))
		var first uint32
		if err == nil {
			first, _, err = block.First(0)
			err = d.damaged(b, uint32(part), err)
		}
		if err != nil && failed == nil {
			failed = err
		}
		return first > uint32(v)
	})
	return uint32(max(beyond-1, 0)), failed
}

// Neighbors yields the neighbours of v, ascending. On failure it yields the error once, and stops.
func (tx *Tx) Neighbors(v NodeID) iter.Seq2[NodeID, error] {
	return func(yield func(NodeID, error) bool) {
		if err := tx.checkNode(v); err != nil {
			yield(0, err)
			return
		}
		changes, err := tx.edgeDeltasOf(v)
		if err != nil {
			yield(0, err)
			return
		}
		for list, err := range tx.loadedNeighbors(v) {
			if err != nil {
				yield(0, err)
				return
			}
			for _, w := range list {
				for len(changes) > 0 && changes[0].v < w {
					if changes[0].change != edgeAdded {
						yield(0, changes[0].contradiction())
						return
					}
					if !yield(changes[0].v, nil) {
						return
					}
					changes = changes[1:]
				}
				if len(changes) > 0 && changes[0].v == w {
					change := changes[0]
					if changes = changes[1:]; change.change == edgeAdded {
						yield(0, change.contradiction())
						return
					}
					if change.change == edgeRemoved {
						continue
					}
				}
				if !yield(w, nil) {
					return
				}
			}
		}
		for _, c := range changes {
			if c.change != edgeAdded {
				yield(0, c.contradiction())
				return
			}
			if !yield(c.v, nil) {
				return
			}
		}
	}
}

// loadedNeighbors yields the list of v in the blocks, ascending, in one piece or, for a hub, in several.
func (tx *Tx) loadedNeighbors(v NodeID) iter.Seq2[[]NodeID, error] {
	return func(yield func([]NodeID, error) bool) {
		if int(v) >= tx.cat.LoadedNodes {
			return
		}
		d, err := tx.directory()
		if err != nil {
			yield(nil, err)
			return
		}
		b := d.find(v)
		var list []NodeID
		for part := range d.parts[b] {
			block, err := tx.lookupBlock(d, b, part)
			if err == nil {
				list, err = gap.AppendRow(list[:0], block.Block, int(v-d.starts[b]))
				err = d.damaged(b, part, err)
			}
			if !yield(list, err) || err != nil {
				return
			}
		}
	}
}

// Edges yields every edge once, with U < V, ascending by U and then V. On failure it yields the error once, and stops.
func (tx *Tx) Edges() iter.Seq2[Edge, error] {
	return func(yield func(Edge, error) bool) {
		blocks, err := tx.AdjacencyBlocks()
		if err != nil {
			yield(Edge{}, err)
			return
		}
		var lists Adjacency
		for _, r := range blocks {
			if err := tx.ReadAdjacency(r, &lists); err != nil {
				yield(Edge{}, err)
				return
			}
			for u := r.First; u < r.End; u++ {
				list := lists.Of(u)
				greater, _ := slices.BinarySearch(list, u)
				for _, v := range list[greater:] {
					if !yield(Edge{u, v}, nil) {
						return
					}
				}
			}
		}
	}
}
