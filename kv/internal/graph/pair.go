package graph

import (
	"encoding/binary"
	"errors"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// ErrInvalidEdge is returned for an edge that cannot be. It stands at the door of kv, so that its text begins with
// its name.
var ErrInvalidEdge = errors.New("kv: invalid edge")

// A Pair is two nodes and what joins them.
type Pair struct {
	U, V    record.NodeID
	Arc     codec.Arc // now
	base    codec.Arc // in the blocks
	changed bool      // there is a delta
}

// Pair returns what joins two nodes.
func (g *Graph) Pair(u, v record.NodeID) (p Pair, err error) {
	d, changed, err := g.Delta(u, v)
	if err != nil {
		return p, err
	}
	p = Pair{U: u, V: v, Arc: d.Arc, changed: changed}
	if p.base, err = g.loadedArc(u, v); !changed {
		p.Arc = p.base
	}
	return p, err
}

// Counts are what p and its delta count for its ends.
func (p Pair) Counts() DegreeDelta {
	return DegreeDelta{
		Deltas: int64(codec.Bit(p.changed)),
		Degree: int64(codec.Bit(p.Arc != codec.Arc{}) - codec.Bit(p.base != codec.Arc{})),
	}
}

// A Difference is by how much counts change.
type Difference struct{ Edges, Arcs, Deltas int64 }

func (d *Difference) add(o Difference) {
	d.Edges, d.Arcs, d.Deltas = d.Edges+o.Edges, d.Arcs+o.Arcs, d.Deltas+o.Deltas
}

// Set has an arc join a pair, the zero one nothing. Two arcs whose weights have no float32 for a sum are an
// ErrInvalidEdge.
func (g *Graph) Set(w snapshot.Writer, p Pair, after codec.Arc) (Difference, error) {
	if err := (Delta{p.U, p.V, after}).Check(g.Form); err != nil {
		return Difference{}, err
	}
	d, err := g.putDeltas(w, p, after)
	for _, v := range []record.NodeID{p.U, p.V} {
		if err == nil {
			err = g.count(w, v, d)
		}
	}
	return d, err
}

// Isolate removes all edges of v, given its neighbors. An edge that is gone already stays so.
func (g *Graph) Isolate(w snapshot.Writer, v record.NodeID, neighbors []record.NodeID) (sum Difference, err error) {
	for _, u := range neighbors {
		p, err := g.Pair(v, u)
		if err != nil {
			return sum, err
		}
		d, err := g.putDeltas(w, p, codec.Arc{})
		if err == nil {
			err = g.count(w, u, d)
		}
		if err != nil {
			return sum, err
		}
		sum.add(d)
	}
	return sum, g.count(w, v, sum)
}

// putDeltas writes what joins a pair from now on, under both ends.
func (g *Graph) putDeltas(w snapshot.Writer, p Pair, after codec.Arc) (Difference, error) {
	then := p
	then.Arc, then.changed = after, after != p.base
	for _, d := range []Delta{{p.U, p.V, after}, {p.V, p.U, after.Reversed()}} {
		key := edgeDeltaKey(g.Generation, d.U, d.V)
		var err error
		if then.changed {
			err = w.Put(key, encodeDelta(g.Form, d.Arc))
		} else {
			err = w.Remove(key)
		}
		if err != nil {
			return Difference{}, err
		}
	}
	d := Difference{Edges: then.Counts().Degree - p.Counts().Degree, Deltas: then.Counts().Deltas - p.Counts().Deltas}
	if g.Form.Directed {
		d.Arcs = after.Count() - p.Arc.Count()
	}
	return d, nil
}

// count counts deltas of a node.
func (g *Graph) count(w snapshot.Writer, v record.NodeID, by Difference) error {
	count, err := g.DegreeDelta(v)
	if err != nil || by.Edges == 0 && by.Deltas == 0 {
		return err
	}
	count.Deltas += by.Deltas
	count.Degree += by.Edges
	key := degreeDeltaKey(g.Generation, v)
	if count.Deltas == 0 {
		return w.Remove(key)
	}
	return w.Put(key, binary.AppendVarint(binary.AppendUvarint(nil, uint64(count.Deltas)), count.Degree))
}
