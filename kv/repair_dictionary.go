package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// unpaired stands for a node or a position that is not known.
const unpaired = ^uint32(0)

// A nameRepair holds the dictionary of the load while it is put together, in files.
type nameRepair struct {
	*repair
	nodeAt   *scratch.Array[uint32] // by position
	position *scratch.Array[uint32] // by NodeID
	guessed  NodeSet                // positions whose node is a guess

	added  map[NodeID]string // ids of added nodes that only the other direction knows
	owners map[uint64]NodeID // who has an id among the added nodes, by its hash
}

// prepare makes each direction of the dictionary from the other where it is missing.
func (n *nameRepair) prepare(ctx context.Context) (err error) {
	files, count := n.s.Scratch(), max(n.tx.cat.LoadedNodes, 1)
	if n.nodeAt, err = scratch.New[uint32](files, "repair-node-at", count); err != nil {
		return err
	}
	if n.position, err = scratch.New[uint32](files, "repair-position", count); err != nil {
		return err
	}
	if err := n.match(ctx); err != nil {
		return err
	}
	return n.readAdded(ctx)
}

func (n *nameRepair) close() (err error) {
	for _, a := range []*scratch.Array[uint32]{n.nodeAt, n.position} {
		if a != nil {
			err = errors.Join(err, a.Close())
		}
	}
	return err
}

// numbers returns a block of one direction of the dictionary.
func (n *nameRepair) numbers(k record.Kind, block int) ([]uint32, error) {
	numbers := n.nodeAt.Data
	if k == record.KindPosition {
		numbers = n.position.Data
	}
	first := block * dict.NumbersPerBlock
	return numbers[first:min(first+dict.NumbersPerBlock, n.tx.cat.LoadedNodes)], nil
}

// match finds the node of every position. If neither direction says it, nodes and positions that are left are put
// together in their order, and their ids are lost.
func (n *nameRepair) match(ctx context.Context) error {
	count := n.tx.cat.LoadedNodes
	nodeAt, position := n.nodeAt.Data[:count], n.position.Data[:count]
	for i := range count {
		nodeAt[i], position[i] = unpaired, unpaired
	}
	for _, k := range []record.Kind{record.KindNodeAt, record.KindPosition} {
		var block []uint32
		for first := 0; first < count; first += dict.NumbersPerBlock {
			var err error
			block, err = n.tx.dict().Numbers(k, first/dict.NumbersPerBlock, block[:0])
			if errors.Is(err, ErrCorrupt) {
				continue
			}
			if err := errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			for i, x := range block {
				p, v := uint32(first+i), x
				if k == record.KindPosition {
					p, v = v, p
				}
				if nodeAt[p] == unpaired && position[v] == unpaired {
					nodeAt[p], position[v] = v, p
				}
			}
		}
	}
	n.guessed = NewNodeSet(count)
	v := 0
	for p := range nodeAt {
		if nodeAt[p] != unpaired {
			continue
		}
		for position[v] != unpaired {
			v++
		}
		nodeAt[p], position[v] = uint32(v), uint32(p)
		n.guessed.Add(NodeID(p))
	}
	return nil
}

// readAdded reads the ids of nodes added since the load. Of two nodes of one id the later one has it: the removal of
// the other is lost.
func (n *nameRepair) readAdded(ctx context.Context) error {
	n.added, n.owners = map[NodeID]string{}, map[uint64]NodeID{}
	prefix := record.Prefix(record.KindAddedID, n.tx.cat.Graph)
	err := eachRecord(ctx, n.tx.txn, prefix, func(rec record.Record, _ error) error {
		v, _ := binary.Uvarint(rec.Body)
		there, err := snapshot.Find(n.tx.records(), dict.AddedNodeKey(n.tx.cat.Graph, NodeID(v)), func([]byte) error { return nil })
		if !there {
			n.added[NodeID(v)] = string(rec.Key[len(prefix):])
		}
		return err
	})
	if err != nil {
		return err
	}
	ids := n.tx.dict().Reader()
	for v := n.tx.cat.LoadedNodes; v < n.tx.cat.Nodes; v++ {
		id, err := n.id(ids, v)
		if err == nil && id != "" {
			n.owners[dict.Hash(id)] = NodeID(v)
		}
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return err
		}
	}
	return nil
}

// errLostID is for a position whose id is not known.
var errLostID = fmt.Errorf("%w: the id cannot be read", ErrCorrupt)

// ids yields the ids of all positions, empty of a removed node, and errLostID if one is not known.
func (n *nameRepair) ids(yield func(string, error) bool) {
	ids := n.tx.dict().Reader()
	for position := range n.tx.cat.Nodes {
		id, err := n.id(ids, position)
		if err == nil && id != "" {
			if owner, has := n.owners[dict.Hash(id)]; has && int(owner) != position {
				id, err = "", errLostID
			}
		}
		if !yield(id, err) {
			return
		}
	}
}

// id is the id at a position by itself, as ids yields it.
func (n *nameRepair) id(ids *dict.Reader, position int) (string, error) {
	v := NodeID(position)
	if position < n.tx.cat.LoadedNodes {
		v = NodeID(n.nodeAt.Data[position])
	}
	if n.bulk.removed.Has(v) {
		return "", nil
	}
	id, err := ids.AtPosition(position)
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return "", err
	}
	if known, ok := n.added[v]; ok && position >= n.tx.cat.LoadedNodes {
		id, err = known, nil
	}
	if err != nil || position < n.tx.cat.LoadedNodes && n.guessed.Has(NodeID(position)) || validateID(id) != nil {
		return "", errLostID
	}
	return id, nil
}
