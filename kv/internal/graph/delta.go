package graph

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// Edges added, removed or changed after the load are kept beside the blocks, until Compact folds them in: one record
// under each end of the edge, and for each node that has any a count of them, which spares the others a search.

// A Delta is the arc from u to v since the load, of edges that have changed; the zero Arc nothing. It is stored under
// u.
type Delta struct {
	U, V record.NodeID
	Arc  codec.Arc
}

// Check returns an ErrInvalidEdge for two arcs whose weights have no float32 for a sum.
func (d Delta) Check(f codec.ArcForm) error {
	if _, ok := d.Arc.Sum(); ok || !f.Directed || d.Arc == (codec.Arc{}) {
		return nil
	}
	return fmt.Errorf("edge between nodes number %d and %d: %w: the sum of the weights %v and %v is not finite",
		d.U, d.V, ErrInvalidEdge, d.Arc.Out, d.Arc.In)
}

func edgeDeltaKey(g record.Generation, u, v record.NodeID) []byte {
	return record.PairKey(record.KindEdgeDelta, g, uint32(u), uint32(v))
}

func degreeDeltaKey(g record.Generation, v record.NodeID) []byte {
	return record.NumberKey(record.KindDegreeDelta, g, uint32(v))
}

// encodeDelta writes a record of arcs: of one, or of none.
func encodeDelta(f codec.ArcForm, a codec.Arc) []byte {
	e := codec.ArcEncoder{Form: f}
	if a != (codec.Arc{}) {
		e.Append([]codec.Arc{a})
	}
	return e.AppendTo(nil)
}

func decodeDelta(f codec.ArcForm, key, body []byte) (codec.Arc, error) {
	arcs, err := f.AppendArcs(nil, body, 1)
	if err != nil {
		return codec.Arc{}, record.Corrupt(key, err.Error())
	}
	return append(arcs, codec.Arc{})[0], nil
}

// A DegreeDelta is how many deltas a node has, and by how much they change its degree.
type DegreeDelta struct{ Deltas, Degree int64 }

// DegreeDelta counts the deltas of v.
func (g *Graph) DegreeDelta(v record.NodeID) (d DegreeDelta, err error) {
	key := degreeDeltaKey(g.Generation, v)
	_, err = snapshot.Find(g.Records, key, func(body []byte) (err error) {
		d, err = decodeDegreeDelta(key, body)
		return err
	})
	return d, err
}

func decodeDegreeDelta(key, body []byte) (DegreeDelta, error) {
	deltas, n := binary.Uvarint(body)
	degree, m := binary.Varint(body[max(n, 0):])
	if n <= 0 || m <= 0 || n+m != len(body) || deltas == 0 || deltas > math.MaxUint32 ||
		uint64(max(degree, -degree)) > deltas {
		return DegreeDelta{}, record.Corrupt(key, fmt.Sprintf("the counts are % x", body))
	}
	return DegreeDelta{int64(deltas), degree}, nil
}

// deltasOf returns the deltas of v, ascending.
func (g *Graph) deltasOf(v record.NodeID) ([]Delta, error) {
	if g.Deltas == 0 {
		return nil, nil
	}
	if count, err := g.DegreeDelta(v); err != nil || count.Deltas == 0 {
		return nil, err
	}
	return g.deltas(record.Range{First: v, End: v + 1})
}

// deltas returns the deltas stored under the nodes of r, ascending. They are read before anything else is, so that
// reads may nest in an Update.
func (g *Graph) deltas(r record.Range) (deltas []Delta, err error) {
	err = snapshot.EachNode(g.Records.Scan, record.KindEdgeDelta, g.Generation, r,
		func(_ record.NodeID, rec record.Record) error {
			d, err := g.ParseDelta(rec)
			deltas = append(deltas, d)
			return err
		})
	return deltas, err
}

// ParseDelta reads the record of a delta.
func (g *Graph) ParseDelta(r record.Record) (Delta, error) {
	u, err := record.NumberAt(r.Key, 0)
	if err != nil {
		return Delta{}, err
	}
	v, err := record.NumberAt(r.Key, 1)
	if err != nil {
		return Delta{}, err
	}
	a, err := decodeDelta(g.Form, r.Key, r.Body)
	return Delta{record.NodeID(u), record.NodeID(v), a}, err
}

// addDegreeDeltas adds the deltas of r to its degrees.
func (g *Graph) addDegreeDeltas(r record.Range, degrees []uint32) error {
	return snapshot.EachNode(g.Records.Scan, record.KindDegreeDelta, g.Generation, r,
		func(v record.NodeID, rec record.Record) error {
			d, err := decodeDegreeDelta(rec.Key, rec.Body)
			degrees[v-r.First] += uint32(d.Degree)
			return err
		})
}

// Apply applies deltas of the range, ascending, to the lists, and if withArcs is set to their arcs too. What they make
// is written after the lists as they were, and then takes their place.
func (a *Adjacency) Apply(deltas []Delta, withArcs bool) {
	begin, before := int64(0), len(a.Neighbors)
	keep := func(from, to int64) {
		a.Neighbors = append(a.Neighbors, a.Neighbors[from:to]...)
		if withArcs {
			a.arcs = append(a.arcs, a.arcs[from:to]...)
		}
	}
	for i := range a.Len() {
		end := a.Offsets[i+1]
		for ; len(deltas) > 0 && deltas[0].U == a.First+record.NodeID(i); deltas = deltas[1:] {
			d := deltas[0]
			at, there := slices.BinarySearch(a.Neighbors[begin:end], d.V)
			keep(begin, begin+int64(at))
			begin += int64(at + codec.Bit(there))
			if d.Arc == (codec.Arc{}) {
				continue
			}
			a.Neighbors = append(a.Neighbors, d.V)
			if withArcs {
				a.arcs = append(a.arcs, d.Arc)
			}
		}
		keep(begin, end)
		begin, a.Offsets[i+1] = end, int64(len(a.Neighbors)-before)
	}
	a.Neighbors = slices.Delete(a.Neighbors, 0, before)
	if withArcs {
		a.arcs = slices.Delete(a.arcs, 0, before)
	}
}
