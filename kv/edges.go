package kv

import (
	"cmp"
	"fmt"
	"iter"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Range is the nodes First ≤ v < End. Its method Len is their number.
type Range = record.Range

// Adjacency holds the decoded lists of a Range: list i, of node First+i, is Neighbors[Offsets[i]:Offsets[i+1]],
// ascending. The zero value is ready for ReadAdjacency. Its fields and methods are
//
//	Range                        // the nodes whose lists it holds
//	Offsets   []int64            // [Range.Len()+1], from 0
//	Neighbors []NodeID           // [Offsets[Range.Len()]]
//	Weights   []float32          // of the arcs to Neighbors, if it was read along a direction; nil: all are 1
//	BytesRead int64              // the encoded size of what ReadAdjacency last read
//	Of(v NodeID) []NodeID        // the list of a node, borrowed
//	ArcsOf(v NodeID)             // the weights Out and In beside each neighbour, if arcs were read
//	Reset(r Range)               // makes room for the lists of a range
type Adjacency = graph.Adjacency

// graph is the adjacency of the transaction.
func (tx *Tx) graph() *graph.Graph {
	if tx.structures != nil {
		return &tx.structures.graph
	}
	g := tx.newGraph()
	return &g
}

func (tx *Tx) newGraph() graph.Graph {
	c := tx.cat
	return graph.Graph{
		Records: tx.records(), Directories: tx.s.directories, Generation: c.Graph, Form: c.arcForm(),
		Nodes: c.Nodes, LoadedNodes: c.LoadedNodes, Deltas: c.EdgeDeltas,
	}
}

// AdjacencyBlocks returns the ranges that decode together, ascending, covering 0 ≤ v < NumNodes. The slice is the
// caller's.
func (tx *Tx) AdjacencyBlocks() ([]Range, error) {
	if err := tx.Err(); err != nil {
		return nil, err
	}
	return tx.graph().Blocks()
}

// ReadAdjacency decodes a range of AdjacencyBlocks, or several that follow each other, into buf, reusing its memory;
// edges added and removed since the load are merged in. Any other range is an ErrShape. It is safe for concurrent use
// with a buf each.
func (tx *Tx) ReadAdjacency(r Range, buf *Adjacency) error {
	if err := tx.Err(); err != nil {
		return err
	}
	return tx.graph().Read(r, buf)
}

// Degree is the number of neighbours of v.
func (tx *Tx) Degree(v NodeID) (int, error) {
	if err := tx.checkNode(v); err != nil {
		return 0, err
	}
	return tx.graph().Degree(v)
}

// ReadDegrees fills dst, one number for each node of r, with their degrees. If len(dst) is not r.Len() it is an
// ErrShape. Whole blocks are cheapest, but any range will do.
func (tx *Tx) ReadDegrees(r Range, dst []uint32) error {
	if err := tx.Err(); err != nil {
		return err
	}
	return tx.graph().ReadDegrees(r, dst)
}

// Neighbors yields the neighbours of v, ascending. On failure it yields the error once, and stops.
func (tx *Tx) Neighbors(v NodeID) iter.Seq2[NodeID, error] {
	return func(yield func(NodeID, error) bool) { // not by Along, which would allocate
		tx.yieldNeighbors(Both, v, yield)
	}
}

// yieldNeighbors is Neighbors along a direction.
func (tx *Tx) yieldNeighbors(along Direction, v NodeID, yield func(NodeID, error) bool) {
	if err := tx.checkNode(v); err != nil {
		yield(0, err)
		return
	}
	tx.graph().NeighborsAlong(along, v)(yield)
}

// AddEdge adds the edge u–v, in either order, or in a directed graph the arc u→v, with weight 1. A self loop is an
// ErrInvalidEdge, an edge or arc that is there an ErrExists.
func (tx *Tx) AddEdge(u, v NodeID) error {
	return tx.changeWeight(u, v, 1, func(before float32) error {
		if before != 0 {
			return ErrExists
		}
		return nil
	})
}

// RemoveEdge removes the edge u–v, in either order, or in a directed graph the arc u→v. One that is not there is an
// ErrNotFound.
func (tx *Tx) RemoveEdge(u, v NodeID) error {
	return tx.changeWeight(u, v, 0, func(before float32) error {
		if before == 0 {
			return ErrNotFound
		}
		return nil
	})
}

// changeWeight gives the edge or arc u→v a weight, 0 for none, if allow has nothing against it, given the weight
// before.
func (tx *Tx) changeWeight(u, v NodeID, weight float32, allow func(before float32) error) error {
	return tx.editEdge(u, v, func(a codec.Arc) (codec.Arc, error) {
		if err := allow(a.Out); err != nil {
			return a, fmt.Errorf("edge between nodes number %d and %d: %w", u, v, err)
		}
		return codec.Arc{Out: weight, In: a.In}.Directed(tx.cat.arcForm()), nil
	})
}

// editEdge changes what joins two nodes.
func (tx *Tx) editEdge(u, v NodeID, apply func(before codec.Arc) (after codec.Arc, err error)) error {
	if err := cmp.Or(tx.writable(), tx.checkNode(u), tx.checkNode(v)); err != nil {
		return err
	}
	if u == v {
		return fmt.Errorf("edge from node number %d to itself: %w", u, ErrInvalidEdge)
	}
	p, err := tx.graph().Pair(u, v)
	if err != nil {
		return err
	}
	after, err := apply(p.Arc)
	if err != nil || after == p.Arc {
		return err
	}
	if err := tx.graphForWrite(); err != nil {
		return err
	}
	difference, err := tx.graph().Set(tx.records(), p, after)
	if err != nil {
		return err
	}
	tx.touched.add(edgesTouched, u, v)
	return tx.addDifference(difference)
}

// addDifference counts what a change of edges changes.
func (tx *Tx) addDifference(difference graph.Difference) error {
	c, err := tx.count()
	if err != nil {
		return err
	}
	c.EdgeDeltas += difference.Deltas
	c.Edges += difference.Edges
	c.Arcs += difference.Arcs
	return nil
}
