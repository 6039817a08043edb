package kv

import (
	"errors"
	"fmt"
	"iter"

	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// dict is the dictionary of ids, positions and nodes.
func (tx *Tx) dict() *dict.Dict {
	if tx.structures != nil {
		return &tx.structures.dict
	}
	d := tx.newDict()
	return &d
}

func (tx *Tx) newDict() dict.Dict {
	c := tx.cat
	return dict.Dict{
		Records: tx.records(), Generation: c.Graph, Nodes: c.Nodes, LoadedNodes: c.LoadedNodes, Dense: c.DenseIDs, Reused: c.Removed > 0,
	}
}

// Node returns the node of an external id; ErrNotFound if there is none.
func (tx *Tx) Node(id string) (NodeID, error) {
	if err := tx.Err(); err != nil {
		return 0, err
	}
	position, err := tx.dict().Position(id)
	if err != nil {
		return 0, err
	}
	if position >= 0 {
		nodes := tx.dict().Once()
		v, err := nodes.NodeAt(position)
		if err != nil {
			return 0, err
		}
		if removed, err := tx.isRemoved(v); err != nil || !removed {
			return v, err
		}
	}
	return 0, fmt.Errorf("node %q: %w", firstRunes(id, MaxID), ErrNotFound)
}

// ID returns the external id of a node.
func (tx *Tx) ID(v NodeID) (string, error) {
	if err := tx.checkNode(v); err != nil {
		return "", err
	}
	ids := tx.dict().Once()
	return ids.At(v)
}

// Places reads the places of nodes in the node file, from 0, and the nodes and ids at places. Nodes added later
// follow, and removed nodes keep their places. Asked in ascending order, each costs little. It belongs to one
// goroutine; a Tx may have many. It sees what an Update wrote before it was made.
type Places struct {
	tx  *Tx
	ids *dict.Reader
}

// Places returns a reader of places.
func (tx *Tx) Places() (*Places, error) {
	if err := tx.Err(); err != nil {
		return nil, err
	}
	return &Places{tx, tx.dict().Reader()}, nil
}

// WillRead says at which ascending places ids are read soon; see Tx.WillRead.
func (p *Places) WillRead(positions iter.Seq[int]) { p.tx.willRead(p.tx.dict().IDKeys(positions)) }

// Of is the place of a node that is there.
func (p *Places) Of(v NodeID) (int, error) {
	if err := p.tx.checkNumber(v); err != nil {
		return 0, err
	}
	return p.ids.PositionOf(v)
}

// NodeAt is the node at a place, which must be one of a node that is there.
func (p *Places) NodeAt(position int) (NodeID, error) { return p.ids.NodeAt(position) }

// ID is the value of the property id of the node at a place, likewise.
func (p *Places) ID(position int) (Value, error) {
	id, err := p.ids.AtPosition(position)
	if err != nil {
		return Value{}, err
	}
	return p.tx.idValue(id)
}

// InFileOrder yields the NodeID of every node that is there, in the order of the node file, then of those added
// later. On failure it yields the error once, and stops.
func (tx *Tx) InFileOrder() iter.Seq2[NodeID, error] {
	return func(yield func(NodeID, error) bool) {
		tx.eachPlace(func(_ int, v NodeID, err error) bool { return yield(v, err) })
	}
}

// eachPlace yields the places of the nodes that are there, ascending, with the nodes. On failure it yields the error
// once.
func (tx *Tx) eachPlace(yield func(position int, v NodeID, err error) bool) {
	removed, err := tx.Removed()
	if err != nil {
		yield(0, 0, err)
		return
	}
	nodes := tx.dict().Reader()
	for position := range tx.cat.Nodes {
		v, err := nodes.NodeAt(position)
		if err != nil {
			yield(0, 0, err)
			return
		}
		if !removed.Has(v) && !yield(position, v, nil) {
			return
		}
	}
}

// IDs yields every external id in the order of InFileOrder. On failure it yields the error once, and stops.
func (tx *Tx) IDs() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ids := tx.dict().Reader()
		tx.eachPlace(func(position int, _ NodeID, err error) bool {
			id := ""
			if err == nil {
				id, err = ids.AtPosition(position)
			}
			return yield(id, err) && err == nil
		})
	}
}

// AddNode adds a node without edges, numbered after all others. n.Values must be empty: use SetValue. An id that is
// taken is an ErrExists, one that cannot be an id an ErrInvalidID. The first id that is no integer turns the column
// id into text: Shape says whether that has happened.
func (tx *Tx) AddNode(n Node) (NodeID, error) {
	if err := tx.writable(); err != nil {
		return 0, err
	}
	if len(n.Values) > 0 {
		return 0, fmt.Errorf("node %q: %w: values are set by SetValue", n.ID, ErrInvalidValue)
	}
	if err := validateID(n.ID); err != nil {
		return 0, err
	}
	switch _, err := tx.Node(n.ID); {
	case err == nil:
		return 0, fmt.Errorf("node %q: %w", n.ID, ErrExists)
	case !errors.Is(err, ErrNotFound):
		return 0, err
	}
	if tx.cat.Nodes >= record.MaxNodes {
		return 0, fmt.Errorf("node %q: the store is full: it has %d nodes", n.ID, tx.cat.Nodes)
	}
	if err := tx.graphForWrite(); err != nil {
		return 0, fmt.Errorf("node %q: %w", n.ID, err)
	}
	v := NodeID(tx.cat.Nodes)
	if err := tx.dict().Add(tx.records(), v, n.ID); err != nil {
		return 0, err
	}
	counts, err := tx.count()
	if err != nil {
		return 0, err
	}
	_, integer := dict.Integer(n.ID)
	counts.IntegerIDs = counts.IntegerIDs && integer
	counts.Nodes++
	if n.Label != "" {
		if err := tx.SetLabel(v, n.Label); err != nil {
			return 0, tx.fail(fmt.Errorf("node %q: %w", n.ID, err))
		}
	}
	return v, nil
}

// graphForWrite gives a graph without one a generation.
func (tx *Tx) graphForWrite() error {
	if tx.cat.Graph != 0 {
		return nil
	}
	c, err := tx.change()
	if err != nil {
		return err
	}
	c.Graph, err = c.newGeneration()
	return err
}
