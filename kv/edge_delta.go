package kv

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Edges added, removed or changed after the load are kept beside the blocks, until Compact folds them in: one record
// under each end of the edge, and for each node that has any a count of them, which spares the others a search. An edge
// that is added and removed again leaves nothing.

// edgeChange says what became of an edge since the load. It is the first byte of an edge delta; in a directed or
// weighted graph the record of the arc follows, unless there is none left.
type edgeChange byte

const (
	edgeKept    edgeChange = 0 // never stored
	edgeAdded   edgeChange = 1
	edgeRemoved edgeChange = 2
	edgeChanged edgeChange = 3 // other arcs or weights than in the blocks
)

// An edgeDelta is the change of the edge u–v, stored under u, and the arc that there is since.
type edgeDelta struct {
	u, v   NodeID
	change edgeChange
	arc    codec.Arc
}

// contradiction is the error of a delta that adds an edge of the blocks, or removes or changes one that they have not.
func (d edgeDelta) contradiction() error {
	return fmt.Errorf("edge delta %d/%d: %w: it contradicts the adjacency blocks", d.u, d.v, ErrCorrupt)
}

func edgeDeltaKey(g record.Generation, u, v NodeID) []byte {
	return record.PairKey(record.KindEdgeDelta, g, uint32(u), uint32(v))
}

func degreeDeltaKey(g record.Generation, v NodeID) []byte {
	return record.NumberKey(record.KindDegreeDelta, g, uint32(v))
}

// edgeDelta returns the change of the edge u–v.
func (tx *Tx) edgeDelta(u, v NodeID) (edgeDelta, error) {
	key := edgeDeltaKey(tx.cat.Graph, u, v)
	d := edgeDelta{u: u, v: v}
	_, err := tx.find(key, func(body []byte) (err error) {
		d.change, d.arc, err = decodeDelta(tx.cat.arcForm(), key, body)
		return err
	})
	return d, err
}

func encodeDelta(f codec.ArcForm, d edgeDelta) []byte {
	body := []byte{byte(d.change)}
	if !f.Any() || d.change == edgeRemoved {
		return body
	}
	e := codec.ArcEncoder{Form: f}
	e.Append([]codec.Arc{d.arc})
	return e.AppendTo(body)
}

func decodeDelta(f codec.ArcForm, key, body []byte) (edgeChange, codec.Arc, error) {
	bad := func() (edgeChange, codec.Arc, error) {
		return edgeKept, codec.Arc{}, record.Corrupt(key, fmt.Sprintf("the change is % x", body))
	}
	if len(body) == 0 {
		return bad()
	}
	change := edgeChange(body[0])
	switch {
	case change == edgeAdded && !f.Any() && len(body) == 1:
		return change, codec.Arc{Out: 1, In: 1}, nil
	case change == edgeRemoved && len(body) == 1:
		return change, codec.Arc{}, nil
	case (change == edgeAdded || change == edgeChanged) && f.Any():
		arcs, err := f.AppendArcs(nil, body[1:], 1)
		if err != nil {
			return edgeKept, codec.Arc{}, record.Corrupt(key, err.Error())
		}
		if len(arcs) == 1 {
			return change, arcs[0], nil
		}
	}
	return bad()
}

// A degreeDelta counts the edge deltas of a node.
type degreeDelta struct{ added, removed, changed int }

// count adds n deltas of a change.
func (d *degreeDelta) count(change edgeChange, n int) {
	switch change {
	case edgeAdded:
		d.added += n
	case edgeRemoved:
		d.removed += n
	case edgeChanged:
		d.changed += n
	}
}

func (tx *Tx) degreeDelta(v NodeID) (degreeDelta, error) {
	key := degreeDeltaKey(tx.cat.Graph, v)
	var d degreeDelta
	_, err := tx.find(key, func(body []byte) (err error) {
		d, err = decodeDegreeDelta(key, body)
		return err
	})
	return d, err
}

func decodeDegreeDelta(key, body []byte) (degreeDelta, error) {
	r := codec.Reader{Rest: body}
	d := degreeDelta{added: int(r.Uvarint(math.MaxUint32)), removed: int(r.Uvarint(math.MaxUint32))}
	if len(r.Rest) > 0 { // they end with the removed where none is changed
		if d.changed = int(r.Uvarint(math.MaxUint32)); d.changed == 0 {
			r.Fail()
		}
	}
	if r.Failed || len(r.Rest) > 0 || d == (degreeDelta{}) {
		return degreeDelta{}, record.Corrupt(key, fmt.Sprintf("the counts are % x", body))
	}
	return d, nil
}

// edgeDeltasOf returns the deltas of v, ascending.
func (tx *Tx) edgeDeltasOf(v NodeID) ([]edgeDelta, error) {
	if tx.cat.EdgeDeltas == 0 {
		return nil, nil
	}
	if count, err := tx.degreeDelta(v); err != nil || count == (degreeDelta{}) {
		return nil, err
	}
	return tx.edgeDeltas(Range{v, v + 1})
}

// edgeDeltas returns the deltas stored under the nodes of r, ascending. They are read before anything else is, so that
// reads may nest in an Update.
func (tx *Tx) edgeDeltas(r Range) ([]edgeDelta, error) {
	var deltas []edgeDelta
	prefix := record.Prefix(record.KindEdgeDelta, tx.cat.Graph)
	for rec, err := range tx.scan(prefix, record.NumberKey(record.KindEdgeDelta, tx.cat.Graph, uint32(r.First))) {
		if err != nil {
			return nil, err
		}
		d, err := tx.parseEdgeDelta(rec)
		if err != nil {
			return nil, err
		}
		if d.u >= r.End {
			break
		}
		deltas = append(deltas, d)
	}
	return deltas, nil
}

func (tx *Tx) parseEdgeDelta(r record.Record) (edgeDelta, error) {
	u, err := record.NumberAt(r.Key, 0)
	if err != nil {
		return edgeDelta{}, err
	}
	v, err := record.NumberAt(r.Key, 1)
	if err != nil {
		return edgeDelta{}, err
	}
	change, a, err := decodeDelta(tx.cat.arcForm(), r.Key, r.Body)
	return edgeDelta{NodeID(u), NodeID(v), change, a}, err
}

// addDegreeDeltas adds the deltas of r to its degrees.
func (tx *Tx) addDegreeDeltas(r Range, degrees []uint32) error {
	prefix := record.Prefix(record.KindDegreeDelta, tx.cat.Graph)
	for rec, err := range tx.scan(prefix, degreeDeltaKey(tx.cat.Graph, r.First)) {
		if err != nil {
			return err
		}
		v, err := record.NumberAt(rec.Key, 0)
		if err != nil {
			return err
		}
		if NodeID(v) >= r.End {
			break
		}
		d, err := decodeDegreeDelta(rec.Key, rec.Body)
		if err != nil {
			return err
		}
		degrees[NodeID(v)-r.First] += uint32(d.added - d.removed)
	}
	return nil
}

// mergeDeltas applies the deltas of buf's range to its lists.
func (tx *Tx) mergeDeltas(buf *Adjacency) error {
	deltas, err := tx.edgeDeltas(buf.Range)
	if err != nil || len(deltas) == 0 {
		return err
	}
	return buf.apply(deltas, false)
}

// apply applies deltas of the range, ascending, to the lists, and where withArcs is set to their arcs too. It does so in
// place, from the last list to the first: what is written never overtakes what is still to be read, since the room for
// every added edge is made first.
func (a *Adjacency) apply(deltas []edgeDelta, withArcs bool) error {
	added := 0
	for _, d := range deltas {
		added += counted(d.change == edgeAdded)
	}
	write := int64(len(a.Neighbors) + added)
	a.Neighbors = append(a.Neighbors, make([]NodeID, added)...)
	if withArcs {
		a.arcs = append(a.arcs, make([]codec.Arc, added)...)
	}
	put := func(v NodeID, from codec.Arc) {
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
			if d.u != a.First+NodeID(i) {
				break
			}
			for end > begin && a.Neighbors[end-1] > d.v {
				end--
				put(a.Neighbors[end], arcAt(end))
			}
			there := end > begin && a.Neighbors[end-1] == d.v
			if there == (d.change == edgeAdded) {
				return d.contradiction()
			}
			if there {
				end--
			}
			if d.change != edgeRemoved {
				put(d.v, d.arc)
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

// AddEdge adds the edge u–v, in either order, or in a directed graph the arc u→v, with weight 1. A self loop is an
// ErrInvalidEdge, an edge or arc that is there an ErrExists.
func (tx *Tx) AddEdge(u, v NodeID) error {
	p, err := tx.pairForWrite(u, v)
	if err != nil {
		return err
	}
	if p.after.Out != 0 {
		return fmt.Errorf("edge between nodes number %d and %d: %w", u, v, ErrExists)
	}
	return tx.setWeight(p, 1)
}

// SetEdge gives the edge u–v, in either order, or in a directed graph the arc u→v, a weight, and adds it where it is
// not there. A self loop, a weight that is not finite and greater than 0, two arcs whose weights have no float32 for a
// sum, and any edge of a graph without weights are an ErrInvalidEdge.
func (tx *Tx) SetEdge(u, v NodeID, weight float32) error {
	p, err := tx.pairForWrite(u, v)
	switch {
	case err != nil:
		return err
	case !tx.cat.Weighted:
		return fmt.Errorf("edge between nodes number %d and %d: %w: the graph has no weights", u, v, ErrInvalidEdge)
	case !codec.ValidWeight(weight):
		return fmt.Errorf("edge between nodes number %d and %d: %w: got weight %v, want one that is finite and greater than 0",
			u, v, ErrInvalidEdge, weight)
	}
	return tx.setWeight(p, weight)
}

// RemoveEdge removes the edge u–v, in either order, or in a directed graph the arc u→v. One that is not there is an
// ErrNotFound.
func (tx *Tx) RemoveEdge(u, v NodeID) error {
	p, err := tx.pairForWrite(u, v)
	if err != nil {
		return err
	}
	if p.after.Out == 0 {
		return fmt.Errorf("edge between nodes number %d and %d: %w", u, v, ErrNotFound)
	}
	return tx.setWeight(p, 0)
}

// A nodePair is two nodes and what joins them, as u has it.
type nodePair struct {
	u, v   NodeID
	loaded codec.Arc  // in the blocks
	change edgeChange // since
	after  codec.Arc  // with the change
}

// pairForWrite returns a pair that is to be changed.
func (tx *Tx) pairForWrite(u, v NodeID) (nodePair, error) {
	if err := tx.writable(); err != nil {
		return nodePair{}, err
	}
	for _, w := range []NodeID{u, v} {
		if err := tx.checkNode(w); err != nil {
			return nodePair{}, err
		}
	}
	if u == v {
		return nodePair{}, fmt.Errorf("edge from node number %d to itself: %w", u, ErrInvalidEdge)
	}
	d, err := tx.edgeDelta(u, v)
	if err != nil {
		return nodePair{}, err
	}
	loaded, err := tx.loadedArc(u, v)
	if err != nil {
		return nodePair{}, err
	}
	p := nodePair{u: u, v: v, loaded: loaded, change: d.change, after: d.arc}
	if d.change == edgeKept {
		p.after = loaded
	}
	return p, nil
}

// setWeight sets the weight of the arc u→v, or of the edge in an undirected graph; 0 removes it.
func (tx *Tx) setWeight(p nodePair, weight float32) error {
	before := p.after
	if p.after.Out = weight; !tx.cat.Directed {
		p.after.In = weight
	} else if _, ok := p.after.Sum(); !ok && p.after != (codec.Arc{}) {
		return fmt.Errorf("edge between nodes number %d and %d: %w: the sum of the weights %v and %v is not finite",
			p.u, p.v, ErrInvalidEdge, p.after.Out, p.after.In)
	}
	change := edgeChanged
	switch none := (codec.Arc{}); {
	case p.after == p.loaded:
		change = edgeKept
	case p.loaded == none:
		change = edgeAdded
	case p.after == none:
		change = edgeRemoved
	}
	return tx.setEdgeDelta(p, before, change)
}

// setEdgeDelta replaces the change of a pair by another, under both ends, and keeps the counts.
func (tx *Tx) setEdgeDelta(p nodePair, before codec.Arc, change edgeChange) error {
	g, err := tx.graphForWrite()
	if err != nil {
		return err
	}
	for _, d := range []edgeDelta{{p.u, p.v, change, p.after}, {p.v, p.u, change, p.after.Reversed()}} {
		key := edgeDeltaKey(g, d.u, d.v)
		if change == edgeKept {
			err = tx.remove(key)
		} else {
			err = tx.put(key, encodeDelta(tx.cat.arcForm(), d))
		}
		if err != nil {
			return err
		}
		count, err := tx.degreeDelta(d.u)
		if err != nil {
			return err
		}
		count.count(p.change, -1)
		count.count(change, 1)
		if err := tx.setDegreeDelta(g, d.u, count); err != nil {
			return err
		}
	}
	counts, err := tx.count()
	if err != nil {
		return err
	}
	counts.EdgeDeltas += int64(counted(change != edgeKept) - counted(p.change != edgeKept))
	counts.Edges += int64(counted(p.after != codec.Arc{}) - counted(before != codec.Arc{}))
	if tx.cat.Directed {
		counts.Arcs += p.after.Count() - before.Count()
	}
	return nil
}

func (tx *Tx) setDegreeDelta(g record.Generation, v NodeID, d degreeDelta) error {
	key := degreeDeltaKey(g, v)
	if d == (degreeDelta{}) {
		return tx.remove(key)
	}
	body := binary.AppendUvarint(nil, uint64(d.added))
	body = binary.AppendUvarint(body, uint64(d.removed))
	if d.changed > 0 {
		body = binary.AppendUvarint(body, uint64(d.changed))
	}
	return tx.put(key, body)
}

func counted(b bool) int {
	if b {
		return 1
	}
	return 0
}
