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

// A Difference is by how much counts change.
type Difference struct{ Edges, Arcs, Deltas int64 }

// Join returns the arc between two nodes, and whether that was changed since the load.
func (g *Graph) Join(u, v record.NodeID) (a codec.Arc, changed bool, err error) {
	key := edgeDeltaKey(g.Generation, u, v)
	changed, err = snapshot.Find(g.Records, key, func(body []byte) (err error) {
		a, err = decodeDelta(g.Form, key, body)
		return err
	})
	if !changed && err == nil {
		a, err = g.loadedArc(u, v)
	}
	return a, changed, err
}

// Change has something else join two nodes, given what does; the zero Arc is nothing. It says whether that is
// something else. Two arcs whose weights have no float32 for a sum are an ErrInvalidEdge.
func (g *Graph) Change(
	w snapshot.Writer, u, v record.NodeID, apply func(before codec.Arc) (after codec.Arc, err error),
) (d Difference, differs bool, err error) {
	before, changed, err := g.Join(u, v)
	if err != nil {
		return d, false, err
	}
	after, err := apply(before)
	if err != nil || after == before {
		return d, false, err
	}
	if err := (Delta{u, v, after}).Check(g.Form); err != nil {
		return d, false, err
	}
	d.Edges = int64(codec.Bit(after != codec.Arc{}) - codec.Bit(before != codec.Arc{}))
	d.Deltas = int64(codec.Bit(!changed))
	if g.Form.Directed {
		d.Arcs = after.Count() - before.Count()
	}
	for _, end := range []Delta{{u, v, after}, {v, u, after.Reversed()}} {
		err := w.Put(edgeDeltaKey(g.Generation, end.U, end.V), encodeDelta(g.Form, end.Arc))
		if err == nil {
			err = g.count(w, end.U, d)
		}
		if err != nil {
			return d, false, err
		}
	}
	return d, true, nil
}

// count counts a delta of a node.
func (g *Graph) count(w snapshot.Writer, v record.NodeID, by Difference) error {
	count, err := g.DegreeDelta(v)
	if err != nil || by.Edges == 0 && by.Deltas == 0 {
		return err
	}
	count.Deltas += by.Deltas
	count.Degree += by.Edges
	return w.Put(degreeDeltaKey(g.Generation, v),
		binary.AppendVarint(binary.AppendUvarint(nil, uint64(count.Deltas)), count.Degree))
}
