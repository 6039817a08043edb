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
//	Weights   []float32          // of the arcs to Neighbors, if Undirected read them; nil: all are 1
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
		Records: tx.records(), Partitions: tx.s.partitions, Generation: c.Graph, Form: c.arcForm(),
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
	return tx.graph().Read(r, buf, false)
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
	return func(yield func(NodeID, error) bool) {
		var list Adjacency
		err := tx.checkNode(v)
		if err == nil {
			err = tx.graph().List(v, &list)
		}
		if err != nil {
			yield(0, err)
			return
		}
		for _, u := range list.Neighbors {
			if !yield(u, nil) {
				return
			}
		}
	}
}

// AddEdge adds the edge u–v, in either order, or in a directed graph the arc u→v, with weight 1. A self loop is an
// ErrInvalidEdge, an edge or arc that is there an ErrExists.
func (tx *Tx) AddEdge(u, v NodeID) error { return tx.setEdge(u, v, 1, ErrExists) }

// RemoveEdge removes the edge u–v, in either order, or in a directed graph the arc u→v. One that is not there is an
// ErrNotFound.
func (tx *Tx) RemoveEdge(u, v NodeID) error { return tx.setEdge(u, v, 0, ErrNotFound) }

// setEdge gives the edge or arc u→v a weight, 0 for none. If it is there already, or not there, that is the error same.
func (tx *Tx) setEdge(u, v NodeID, weight float32, same error) error {
	return tx.editEdge(u, v, func(a codec.Arc) (codec.Arc, error) {
		if (a.Out != 0) == (weight != 0) {
			return a, fmt.Errorf("edge between nodes number %d and %d: %w", u, v, same)
		}
		return codec.Arc{Out: weight, In: a.In}.Directed(tx.cat.arcForm()), nil
	})
}

// editEdge changes the arc between two nodes.
func (tx *Tx) editEdge(u, v NodeID, apply func(before codec.Arc) (after codec.Arc, err error)) error {
	if err := cmp.Or(tx.writable(), tx.checkNode(u), tx.checkNode(v)); err != nil {
		return err
	}
	if u == v {
		return fmt.Errorf("edge from node number %d to itself: %w", u, ErrInvalidEdge)
	}
	return tx.changeEdge(u, v, apply)
}

// changeEdge is editEdge of two nodes, one of which may be removed already.
func (tx *Tx) changeEdge(u, v NodeID, apply func(before codec.Arc) (after codec.Arc, err error)) error {
	difference, changed, err := tx.graph().Change(tx.records(), u, v, apply)
	if err != nil || !changed {
		return err
	}
	tx.touched.Of(edgesTouched).Add(u, v)
	c, err := tx.count()
	if err != nil {
		return err
	}
	c.EdgeDeltas += difference.Deltas
	c.Edges += difference.Edges
	c.Arcs += difference.Arcs
	return nil
}

// An Undirected is the graph of a snapshot without directions: with A_vu the weight of the arc v→u, the list of v
// holds, ascending, the nodes u with A_vu > 0 or A_uv > 0. In a directed graph their weight is A_vu + A_uv, rounded to
// float32, else A_vu; in an unweighted one it is 1. An Undirected may be used as its Tx may.
type Undirected struct{ tx *Tx }

// Undirected returns the graph with its weights.
func (tx *Tx) Undirected() *Undirected { return &Undirected{tx} }

// Weighted reports whether ReadAdjacency yields weights.
func (o *Undirected) Weighted() bool { return o.tx.cat.Weighted }

// NumNodes is the number of nodes, n.
func (o *Undirected) NumNodes() int { return o.tx.NumNodes() }

// AdjacencyBlocks is Tx.AdjacencyBlocks.
func (o *Undirected) AdjacencyBlocks() ([]Range, error) { return o.tx.AdjacencyBlocks() }

// ReadAdjacency is Tx.ReadAdjacency with the weights, if the graph has some.
func (o *Undirected) ReadAdjacency(r Range, buf *Adjacency) error {
	if err := o.tx.Err(); err != nil {
		return err
	}
	return o.tx.graph().ReadWeights(r, buf)
}

// Weight is that of a neighbour.
func (o *Undirected) Weight(a Arc) float32 { return o.tx.graph().Weight(a) }

// Neighbors is Tx.Neighbors.
func (o *Undirected) Neighbors(v NodeID) iter.Seq2[NodeID, error] { return o.tx.Neighbors(v) }

// Arcs yields the neighbours of v, ascending, with what joins them. On failure it yields the error once, and stops.
func (o *Undirected) Arcs(v NodeID) iter.Seq2[Arc, error] {
	return func(yield func(Arc, error) bool) {
		if err := o.tx.checkNode(v); err != nil {
			yield(Arc{}, err)
			return
		}
		o.tx.graph().Arcs(v)(yield)
	}
}

// An Arc is a Neighbor of a node, the weight Out of the arc to it, and the weight In of the arc from it; 0 if there
// is none. In an undirected graph both are the weight of the edge, in an unweighted one weights are 1. The weights
// are float32.
type Arc = graph.Arc
