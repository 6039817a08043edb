package graph

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// Edges added, removed or changed after the load are kept beside the blocks, until Compact folds them in: one record
// under each end of the edge, and for each node that has any a count of them, which spares the others a search. An edge
// that is added and removed again leaves nothing.

// Change says what became of an edge since the load. It is the first byte of an edge delta; in a directed or
// weighted graph the record of the arc follows, unless there is none left.
type Change byte

// The changes of an edge.
const (
	Unchanged Change = 0 // never stored
	Added     Change = 1
	Removed   Change = 2
	Changed   Change = 3 // other arcs or weights than in the blocks
)

// A Delta is the change of the edge u–v, stored under u, and the arc that there is since.
type Delta struct {
	U, V   record.NodeID
	Change Change
	Arc    codec.Arc
}

// contradiction is the error of a delta that adds an edge of the blocks, or removes or changes one that they have not.
func (d Delta) contradiction() error {
	return fmt.Errorf("edge delta %d/%d: %w: it contradicts the adjacency blocks", d.U, d.V, record.ErrCorrupt)
}

func edgeDeltaKey(g record.Generation, u, v record.NodeID) []byte {
	return record.PairKey(record.KindEdgeDelta, g, uint32(u), uint32(v))
}

func degreeDeltaKey(g record.Generation, v record.NodeID) []byte {
	return record.NumberKey(record.KindDegreeDelta, g, uint32(v))
}

// Delta returns the change of the edge u–v.
func (g *Graph) Delta(u, v record.NodeID) (Delta, error) {
	key := edgeDeltaKey(g.Generation, u, v)
	d := Delta{U: u, V: v}
	err := g.findDelta(key, func(body []byte) (err error) {
		d.Change, d.Arc, err = decodeDelta(g.Form, key, body)
		return err
	})
	return d, err
}

// findDelta is snapshot.Find of a record of what changed of a node.
func (g *Graph) findDelta(key []byte, read func(body []byte) error) error {
	_, err := snapshot.Find(snapshot.InPlace(g.Records), key, read)
	return err
}

func encodeDelta(f codec.ArcForm, d Delta) []byte {
	body := []byte{byte(d.Change)}
	if !f.Any() || d.Change == Removed {
		return body
	}
	e := codec.ArcEncoder{Form: f}
	e.Append([]codec.Arc{d.Arc})
	return e.AppendTo(body)
}

func decodeDelta(f codec.ArcForm, key, body []byte) (Change, codec.Arc, error) {
	bad := func() (Change, codec.Arc, error) {
		return Unchanged, codec.Arc{}, record.Corrupt(key, fmt.Sprintf("the change is % x", body))
	}
	if len(body) == 0 {
		return bad()
	}
	change := Change(body[0])
	switch {
	case change == Added && !f.Any() && len(body) == 1:
		return change, codec.Arc{Out: 1, In: 1}, nil
	case change == Removed && len(body) == 1:
		return change, codec.Arc{}, nil
	case (change == Added || change == Changed) && f.Any():
		arcs, err := f.AppendArcs(nil, body[1:], 1)
		if err != nil {
			return Unchanged, codec.Arc{}, record.Corrupt(key, err.Error())
		}
		if len(arcs) == 1 {
			return change, arcs[0], nil
		}
	}
	return bad()
}

// A DegreeDelta counts the edge deltas of a node.
type DegreeDelta struct{ Added, Removed, Changed int }

// Count adds n deltas of a change.
func (d *DegreeDelta) Count(change Change, n int) {
	switch change {
	case Added:
		d.Added += n
	case Removed:
		d.Removed += n
	case Changed:
		d.Changed += n
	}
}

// DegreeDelta counts the deltas of v.
func (g *Graph) DegreeDelta(v record.NodeID) (DegreeDelta, error) {
	key := degreeDeltaKey(g.Generation, v)
	var d DegreeDelta
	err := g.findDelta(key, func(body []byte) (err error) {
		d, err = decodeDegreeDelta(key, body)
		return err
	})
	return d, err
}

func decodeDegreeDelta(key, body []byte) (DegreeDelta, error) {
	r := codec.Reader{Rest: body}
	d := DegreeDelta{Added: int(r.Uvarint(math.MaxUint32)), Removed: int(r.Uvarint(math.MaxUint32))}
	if len(r.Rest) > 0 { // they end with the removed if none is changed
		if d.Changed = int(r.Uvarint(math.MaxUint32)); d.Changed == 0 {
			r.Fail()
		}
	}
	if r.Failed || len(r.Rest) > 0 || d == (DegreeDelta{}) {
		return DegreeDelta{}, record.Corrupt(key, fmt.Sprintf("the counts are % x", body))
	}
	return d, nil
}

// deltasOf returns the deltas of v, ascending.
func (g *Graph) deltasOf(v record.NodeID) ([]Delta, error) {
	if g.Deltas == 0 {
		return nil, nil
	}
	if count, err := g.DegreeDelta(v); err != nil || count == (DegreeDelta{}) {
		return nil, err
	}
	return g.deltas(record.Range{First: v, End: v + 1})
}

// deltas returns the deltas stored under the nodes of r, ascending. They are read before anything else is, so that
// reads may nest in an Update.
func (g *Graph) deltas(r record.Range) ([]Delta, error) {
	var deltas []Delta
	prefix := record.Prefix(record.KindEdgeDelta, g.Generation)
	for rec, err := range g.Records.Scan(prefix, record.NumberKey(record.KindEdgeDelta, g.Generation, uint32(r.First))) {
		if err != nil {
			return nil, err
		}
		d, err := g.ParseDelta(rec)
		if err != nil {
			return nil, err
		}
		if d.U >= r.End {
			break
		}
		deltas = append(deltas, d)
	}
	return deltas, nil
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
	change, a, err := decodeDelta(g.Form, r.Key, r.Body)
	return Delta{record.NodeID(u), record.NodeID(v), change, a}, err
}

// addDegreeDeltas adds the deltas of r to its degrees.
func (g *Graph) addDegreeDeltas(r record.Range, degrees []uint32) error {
	prefix := record.Prefix(record.KindDegreeDelta, g.Generation)
	for rec, err := range g.Records.Scan(prefix, degreeDeltaKey(g.Generation, r.First)) {
		if err != nil {
			return err
		}
		v, err := record.NumberAt(rec.Key, 0)
		if err != nil {
			return err
		}
		if record.NodeID(v) >= r.End {
			break
		}
		d, err := decodeDegreeDelta(rec.Key, rec.Body)
		if err != nil {
			return err
		}
		degrees[record.NodeID(v)-r.First] += uint32(d.Added - d.Removed)
	}
	return nil
}

// apply applies deltas of the range, ascending, to the lists, and if withArcs is set to their arcs too. It does so in
// place, from the last list to the first: what is written never overtakes what is still to be read, since the room for
// every added edge is made first.
func (a *Adjacency) apply(deltas []Delta, withArcs bool) error {
	added := 0
	for _, d := range deltas {
		added += codec.Bit(d.Change == Added)
	}
	write := int64(len(a.Neighbors) + added)
	a.Neighbors = append(a.Neighbors, make([]record.NodeID, added)...)
	if withArcs {
		a.arcs = append(a.arcs, make([]codec.Arc, added)...)
	}
	put := func(v record.NodeID, from codec.Arc) {
		write--
		a.Neighbors[write] = v
		if withArcs {
			a.arcs[write] = from
		}
	}
	arcAt := func(i int64) codec.Arc {
		if withArcs {
			return a.arcs[i]
		}
		return codec.Arc{}
	}
	for i := a.Len() - 1; i >= 0; i-- {
		begin, end := a.Offsets[i], a.Offsets[i+1] // of the list what is not yet moved
		a.Offsets[i+1] = write
		for ; len(deltas) > 0; deltas = deltas[:len(deltas)-1] {
			d := deltas[len(deltas)-1]
			if d.U != a.First+record.NodeID(i) {
				break
			}
			for end > begin && a.Neighbors[end-1] > d.V {
				end--
				put(a.Neighbors[end], arcAt(end))
			}
			there := end > begin && a.Neighbors[end-1] == d.V
			if there == (d.Change == Added) {
				return d.contradiction()
			}
			if there {
				end--
			}
			if d.Change != Removed {
				put(d.V, d.Arc)
			}
		}
		write -= end - begin
		copy(a.Neighbors[write:], a.Neighbors[begin:end])
		if withArcs {
			copy(a.arcs[write:], a.arcs[begin:end])
		}
	}
	// What removed edges left free is now before the first list.
	a.Neighbors = append(a.Neighbors[:0], a.Neighbors[write:]...)
	if withArcs {
		a.arcs = append(a.arcs[:0], a.arcs[write:]...)
	}
	for i := range a.Len() {
		a.Offsets[i+1] -= write
	}
	return nil
}

// ErrInvalidEdge is returned for an edge that cannot be. It stands at the door of kv, so that its text begins with its name.
var ErrInvalidEdge = errors.New("kv: invalid edge")

// A Pair is two nodes and what joins them.
type Pair struct {
	u, v   record.NodeID
	base   codec.Arc // in the blocks
	change Change    // since
	after  codec.Arc // with the change
}

// Pair returns what joins two nodes.
func (g *Graph) Pair(u, v record.NodeID) (Pair, error) {
	d, err := g.Delta(u, v)
	if err != nil {
		return Pair{}, err
	}
	base, err := g.loadedArc(u, v)
	if err != nil {
		return Pair{}, err
	}
	p := Pair{u: u, v: v, base: base, change: d.Change, after: d.Arc}
	if d.Change == Unchanged {
		p.after = base
	}
	return p, nil
}

// Ends are the two nodes.
func (p Pair) Ends() (u, v record.NodeID) { return p.u, p.v }

// Weight is that of the arc from the first node to the second; 0 if there is none.
func (p Pair) Weight() float32 { return p.after.Out }

// A Difference is by how much counts change.
type Difference struct{ Edges, Arcs, Deltas int64 }

// SetWeight sets the weight of the arc from the first node of a pair to the second, or of the edge in an undirected graph;
// 0 removes it. Two arcs whose weights have no float32 for a sum are an ErrInvalidEdge.
func (g *Graph) SetWeight(w snapshot.Writer, p Pair, weight float32) (Difference, error) {
	before := p.after
	if p.after.Out = weight; !g.Form.Directed {
		p.after.In = weight
	} else if _, ok := p.after.Sum(); !ok && p.after != (codec.Arc{}) {
		return Difference{}, fmt.Errorf("edge between nodes number %d and %d: %w: the sum of the weights %v and %v is not finite",
			p.u, p.v, ErrInvalidEdge, p.after.Out, p.after.In)
	}
	change := p.becomes(p.after)
	for _, d := range []Delta{{p.u, p.v, change, p.after}, {p.v, p.u, change, p.after.Reversed()}} {
		if err := g.setDelta(w, d, p.change); err != nil {
			return Difference{}, err
		}
	}
	return g.difference(p, before, change), nil
}

// becomes is the change of a pair that another arc joins.
func (p Pair) becomes(after codec.Arc) Change {
	switch none := (codec.Arc{}); {
	case after == p.base:
		return Unchanged
	case p.base == none:
		return Added
	case after == none:
		return Removed
	}
	return Changed
}

// difference is by how much counts change if a pair, joined by another arc before, has a change.
func (g *Graph) difference(p Pair, before codec.Arc, change Change) Difference {
	d := Difference{
		Edges:  int64(codec.Bit(p.after != codec.Arc{}) - codec.Bit(before != codec.Arc{})),
		Deltas: int64(codec.Bit(change != Unchanged) - codec.Bit(p.change != Unchanged)),
	}
	if g.Form.Directed {
		d.Arcs = p.after.Count() - before.Count()
	}
	return d
}

// Isolate removes all edges of v, given its neighbors. An edge that is gone already stays so.
func (g *Graph) Isolate(w snapshot.Writer, v record.NodeID, neighbors []record.NodeID) (Difference, error) {
	own, err := g.DegreeDelta(v)
	if err != nil {
		return Difference{}, err
	}
	var sum Difference
	for _, u := range neighbors {
		p, err := g.Pair(v, u)
		if err != nil {
			return Difference{}, err
		}
		before := p.after
		p.after = codec.Arc{}
		change := p.becomes(p.after)
		if err := g.putDelta(w, Delta{U: v, V: u, Change: change}); err != nil {
			return Difference{}, err
		}
		if err := g.setDelta(w, Delta{U: u, V: v, Change: change}, p.change); err != nil {
			return Difference{}, err
		}
		own.Count(p.change, -1)
		own.Count(change, 1)
		d := g.difference(p, before, change)
		sum.Edges, sum.Arcs, sum.Deltas = sum.Edges+d.Edges, sum.Arcs+d.Arcs, sum.Deltas+d.Deltas
	}
	return sum, g.putDegreeDelta(w, v, own)
}

// setDelta replaces the change of a pair by another under one end, and counts it there.
func (g *Graph) setDelta(w snapshot.Writer, d Delta, before Change) error {
	if err := g.putDelta(w, d); err != nil {
		return err
	}
	count, err := g.DegreeDelta(d.U)
	if err != nil {
		return err
	}
	count.Count(before, -1)
	count.Count(d.Change, 1)
	return g.putDegreeDelta(w, d.U, count)
}

// putDelta writes the change of a pair under one end.
func (g *Graph) putDelta(w snapshot.Writer, d Delta) error {
	key := edgeDeltaKey(g.Generation, d.U, d.V)
	if d.Change == Unchanged {
		return w.Remove(key)
	}
	return w.Put(key, encodeDelta(g.Form, d))
}

// putDegreeDelta writes how many deltas a node has.
func (g *Graph) putDegreeDelta(w snapshot.Writer, v record.NodeID, count DegreeDelta) error {
	key := degreeDeltaKey(g.Generation, v)
	if count == (DegreeDelta{}) {
		return w.Remove(key)
	}
	body := binary.AppendUvarint(nil, uint64(count.Added))
	body = binary.AppendUvarint(body, uint64(count.Removed))
	if count.Changed > 0 {
		body = binary.AppendUvarint(body, uint64(count.Changed))
	}
	return w.Put(key, body)
}
