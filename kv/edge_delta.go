package kv

import (
	"encoding/binary"
	"fmt"
)

// Edges added or removed after the load are kept beside the blocks, until Compact folds them in: one record under each
// end of the edge, and for each node that has any a count of them, which spares the others a search. An edge that is
// added and removed again leaves nothing.

// edgeChange says what became of an edge since the load. It is the body of an edge delta.
type edgeChange byte

const (
	edgeKept    edgeChange = 0 // never stored
	edgeAdded   edgeChange = 1
	edgeRemoved edgeChange = 2
)

// An edgeDelta is the change of the edge u–v, stored under u.
type edgeDelta struct {
	u, v   NodeID
	change edgeChange
}

// contradiction is the error of a delta that adds an edge of the blocks, or removes one that they have not.
func (d edgeDelta) contradiction() error {
	return fmt.Errorf("edge delta %d/%d: %w: it contradicts the adjacency blocks", d.u, d.v, ErrCorrupt)
}

func edgeDeltaKey(g generation, u, v NodeID) []byte {
	return pairKey(kindEdgeDelta, g, uint32(u), uint32(v))
}

func degreeDeltaKey(g generation, v NodeID) []byte { return numberKey(kindDegreeDelta, g, uint32(v)) }

// edgeDelta returns the change of the edge u–v.
func (tx *Tx) edgeDelta(u, v NodeID) (edgeChange, error) {
	key := edgeDeltaKey(tx.cat.Graph, u, v)
	change := edgeKept
	found, err := tx.find(key, func(body []byte) (err error) {
		change, err = decodeEdgeChange(key, body)
		return err
	})
	if !found {
		return edgeKept, err
	}
	return change, err
}

func decodeEdgeChange(key, body []byte) (edgeChange, error) {
	if len(body) != 1 || edgeChange(body[0]) != edgeAdded && edgeChange(body[0]) != edgeRemoved {
		return edgeKept, corrupt(key, fmt.Sprintf("the change is % x", body))
	}
	return edgeChange(body[0]), nil
}

// A degreeDelta counts the edge deltas of a node.
type degreeDelta struct{ added, removed int }

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
	added, n := binary.Uvarint(body)
	removed, m := binary.Uvarint(body[max(n, 0):])
	if n <= 0 || m <= 0 || n+m != len(body) || added >= 1<<32 || removed >= 1<<32 || added+removed == 0 {
		return degreeDelta{}, corrupt(key, fmt.Sprintf("the counts are % x", body))
	}
	return degreeDelta{int(added), int(removed)}, nil
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
	prefix := generationPrefix(kindEdgeDelta, tx.cat.Graph)
	for rec, err := range tx.scan(prefix, numberKey(kindEdgeDelta, tx.cat.Graph, uint32(r.First))) {
		if err != nil {
			return nil, err
		}
		d, err := parseEdgeDelta(rec)
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

func parseEdgeDelta(r record) (edgeDelta, error) {
	u, err := numberAt(r.key, 0)
	if err != nil {
		return edgeDelta{}, err
	}
	v, err := numberAt(r.key, 1)
	if err != nil {
		return edgeDelta{}, err
	}
	change, err := decodeEdgeChange(r.key, r.body)
	return edgeDelta{NodeID(u), NodeID(v), change}, err
}

// addDegreeDeltas adds the deltas of r to its degrees.
func (tx *Tx) addDegreeDeltas(r Range, degrees []uint32) error {
	prefix := generationPrefix(kindDegreeDelta, tx.cat.Graph)
	for rec, err := range tx.scan(prefix, degreeDeltaKey(tx.cat.Graph, r.First)) {
		if err != nil {
			return err
		}
		v, err := numberAt(rec.key, 0)
		if err != nil {
			return err
		}
		if NodeID(v) >= r.End {
			break
		}
		d, err := decodeDegreeDelta(rec.key, rec.body)
		if err != nil {
			return err
		}
		degrees[NodeID(v)-r.First] += uint32(d.added - d.removed)
	}
	return nil
}

// mergeDeltas applies the deltas of buf's range to its lists, in place, from the last list to the first: what is
// written never overtakes what is still to be read, since the room for every added edge is made first.
func (tx *Tx) mergeDeltas(buf *Adjacency) error {
	deltas, err := tx.edgeDeltas(buf.Range)
	if err != nil || len(deltas) == 0 {
		return err
	}
	added := 0
	for _, d := range deltas {
		if d.change == edgeAdded {
			added++
		}
	}
	end := len(buf.Neighbors) + added
	buf.Neighbors = append(buf.Neighbors, make([]NodeID, added)...)
	write := end
	for i := buf.Len() - 1; i >= 0; i-- {
		list := buf.Neighbors[buf.Offsets[i]:buf.Offsets[i+1]]
		buf.Offsets[i+1] = int64(write)
		for len(deltas) > 0 {
			d := deltas[len(deltas)-1]
			if d.u != buf.First+NodeID(i) {
				break
			}
			deltas = deltas[:len(deltas)-1]
			for len(list) > 0 && list[len(list)-1] > d.v {
				write--
				buf.Neighbors[write] = list[len(list)-1]
				list = list[:len(list)-1]
			}
			there := len(list) > 0 && list[len(list)-1] == d.v
			if there != (d.change == edgeRemoved) {
				return d.contradiction()
			}
			if there {
				list = list[:len(list)-1]
			} else {
				write--
				buf.Neighbors[write] = d.v
			}
		}
		write -= len(list)
		copy(buf.Neighbors[write:], list)
	}
	// What removed edges left free is now before the first list.
	buf.Neighbors = append(buf.Neighbors[:0], buf.Neighbors[write:]...)
	for i := range buf.Len() {
		buf.Offsets[i+1] -= int64(write)
	}
	return nil
}

// AddEdge adds the edge u–v, in either order. A self loop is an ErrInvalidEdge, an edge that is there an ErrExists.
func (tx *Tx) AddEdge(u, v NodeID) error {
	change, there, err := tx.edgeForWrite(u, v)
	switch {
	case err != nil:
		return err
	case there:
		return fmt.Errorf("edge between nodes number %d and %d: %w", u, v, ErrExists)
	case change == edgeRemoved:
		return tx.setEdgeDelta(u, v, edgeRemoved, edgeKept)
	}
	return tx.setEdgeDelta(u, v, edgeKept, edgeAdded)
}

// RemoveEdge removes the edge u–v, in either order. An edge that is not there is an ErrNotFound.
func (tx *Tx) RemoveEdge(u, v NodeID) error {
	change, there, err := tx.edgeForWrite(u, v)
	switch {
	case err != nil:
		return err
	case !there:
		return fmt.Errorf("edge between nodes number %d and %d: %w", u, v, ErrNotFound)
	case change == edgeAdded:
		return tx.setEdgeDelta(u, v, edgeAdded, edgeKept)
	}
	return tx.setEdgeDelta(u, v, edgeKept, edgeRemoved)
}

// edgeForWrite returns the change of an edge that is to be written, and whether the edge is there.
func (tx *Tx) edgeForWrite(u, v NodeID) (change edgeChange, there bool, err error) {
	if err := tx.writable(); err != nil {
		return edgeKept, false, err
	}
	for _, w := range []NodeID{u, v} {
		if err := tx.checkNode(w); err != nil {
			return edgeKept, false, err
		}
	}
	if u == v {
		return edgeKept, false, fmt.Errorf("edge from node number %d to itself: %w", u, ErrInvalidEdge)
	}
	if change, err = tx.edgeDelta(u, v); err != nil || change != edgeKept {
		return change, change == edgeAdded, err
	}
	there, err = tx.hasLoadedEdge(u, v)
	return edgeKept, there, err
}

// setEdgeDelta replaces the change of an edge by another, under both ends, and keeps the counts.
func (tx *Tx) setEdgeDelta(u, v NodeID, before, after edgeChange) error {
	cat, err := tx.change()
	if err != nil {
		return err
	}
	if cat.Graph == 0 {
		if cat.Graph, err = cat.newGeneration(); err != nil {
			return err
		}
	}
	for _, e := range []Edge{{u, v}, {v, u}} {
		key := edgeDeltaKey(cat.Graph, e.U, e.V)
		if after == edgeKept {
			err = tx.remove(key)
		} else {
			err = tx.put(key, []byte{byte(after)})
		}
		if err != nil {
			return err
		}
		count, err := tx.degreeDelta(e.U)
		if err != nil {
			return err
		}
		count.added += counted(after == edgeAdded) - counted(before == edgeAdded)
		count.removed += counted(after == edgeRemoved) - counted(before == edgeRemoved)
		if err := tx.setDegreeDelta(cat.Graph, e.U, count); err != nil {
			return err
		}
	}
	cat.EdgeDeltas += int64(counted(after != edgeKept) - counted(before != edgeKept))
	cat.Edges += int64(counted(after == edgeAdded || before == edgeRemoved) - counted(before == edgeAdded || after == edgeRemoved))
	return nil
}

func (tx *Tx) setDegreeDelta(g generation, v NodeID, d degreeDelta) error {
	key := degreeDeltaKey(g, v)
	if d == (degreeDelta{}) {
		return tx.remove(key)
	}
	body := binary.AppendUvarint(nil, uint64(d.added))
	return tx.put(key, binary.AppendUvarint(body, uint64(d.removed)))
}

func counted(b bool) int {
	if b {
		return 1
	}
	return 0
}
