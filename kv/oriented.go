package kv

import (
	"iter"

	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
)

// A Direction says which arcs of a directed graph are walked: Both, Out or In. Its text form, which String gives and
// UnmarshalText takes, is both, out or in.
type Direction = graph.Direction

// The directions.
const (
	Both = graph.Both // the undirected graph that the arcs make; if weighted, the weights of two arcs add up
	Out  = graph.Out  // from a node to those that its arcs lead to
	In   = graph.In   // from a node to those whose arcs lead to it
)

// Directed reports whether the edges of the store have a direction.
func (tx *Tx) Directed() bool { return tx.cat.Directed }

// Weighted reports whether the edges of the store have weights.
func (tx *Tx) Weighted() bool { return tx.cat.Weighted }

// NumArcs is the number of arcs of a directed graph; of an undirected one each edge is two.
func (tx *Tx) NumArcs() int64 { return tx.cat.numArcs() }

// An Oriented is the graph of a snapshot as seen along one direction: with A_vu the weight of the arc v→u, the list of
// v holds, ascending,
//
//	Out   u with A_vu > 0, of weight A_vu
//	In    u with A_uv > 0, of weight A_uv
//	Both  u with either, of weight A_vu + A_uv, rounded to float32; of weight 1 if the graph is unweighted
//
// In an undirected graph A is symmetric and every direction is the same. An Oriented may be used as its Tx may.
type Oriented struct {
	tx        *Tx
	direction Direction
}

// Along returns the graph along a direction.
func (tx *Tx) Along(d Direction) *Oriented {
	if !tx.cat.Directed {
		d = Both
	}
	return &Oriented{tx, d}
}

// Direction returns the direction of o. In an undirected store it is Both.
func (o *Oriented) Direction() Direction { return o.direction }

// Weighted reports whether ReadAdjacency yields weights.
func (o *Oriented) Weighted() bool { return o.tx.cat.Weighted }

// Symmetric reports whether u is in the list of v wherever v is in that of u, with the same weight.
func (o *Oriented) Symmetric() bool { return o.direction == Both }

// Reverse is the graph along the other direction.
func (o *Oriented) Reverse() *Oriented {
	return &Oriented{o.tx, [...]Direction{Both: Both, Out: In, In: Out}[o.direction]}
}

// NumNodes is the number of nodes, n.
func (o *Oriented) NumNodes() int { return o.tx.NumNodes() }

// AdjacencyBlocks is Tx.AdjacencyBlocks: the ranges are the same along every direction.
func (o *Oriented) AdjacencyBlocks() ([]Range, error) { return o.tx.AdjacencyBlocks() }

// ReadAdjacency is Tx.ReadAdjacency with the lists of the direction, and their weights if the graph has weights.
func (o *Oriented) ReadAdjacency(r Range, buf *Adjacency) error {
	if err := o.tx.Err(); err != nil {
		return err
	}
	return o.tx.graph().ReadAlong(o.direction, r, buf)
}

// Weight is that of a neighbour along the direction, zero if it is none.
func (o *Oriented) Weight(a Arc) float32 { return o.tx.graph().Weight(o.direction, a) }

// Neighbors yields the neighbours of v along the direction, ascending. On failure it yields the error once, and stops.
func (o *Oriented) Neighbors(v NodeID) iter.Seq2[NodeID, error] {
	return func(yield func(NodeID, error) bool) {
		o.tx.yieldNeighbors(o.direction, v, yield)
	}
}

// An Arc is a Neighbor of a node, the weight Out of the arc to it, and the weight In of the arc from it; 0 if there
// is none. In an undirected graph both are the weight of the edge, in an unweighted one weights are 1. The weights
// are float32.
type Arc = graph.Arc

// Arcs yields the neighbours of v, ascending, with what joins them. On failure it yields the error once, and stops.
func (tx *Tx) Arcs(v NodeID) iter.Seq2[Arc, error] {
	return func(yield func(Arc, error) bool) {
		if err := tx.checkNode(v); err != nil {
			yield(Arc{}, err)
			return
		}
		tx.graph().Arcs(v)(yield)
	}
}
