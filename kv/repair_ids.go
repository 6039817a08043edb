package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// unpaired stands for a node or a position that is not known.
const unpaired = ^uint32(0)

// An idRepair reads the dictionary of a damaged graph.
type idRepair struct {
	*repair

	// Of the nodes of the load, and each the inverse of the other:
	nodeAt   []uint32 // by position
	position []uint32 // by NodeID
	guessed  NodeSet  // positions whose node is a guess, as both records of it are lost

	added  map[NodeID]string // the ids of the nodes that were added since
	owners map[string]NodeID // who has an id of these
}

// numbers returns a block of one direction between positions and nodes.
func (n *idRepair) numbers(k record.Kind, block int) ([]uint32, error) {
	numbers := n.nodeAt
	if k == record.KindPosition {
		numbers = n.position
	}
	first := block * dict.NumbersPerBlock
	return numbers[first:min(first+dict.NumbersPerBlock, len(numbers))], nil
}

// match finds the node of every position, in memory for two numbers of each. If neither direction says it, nodes and
// positions that are left are put together in their order.
func (n *idRepair) match(ctx context.Context, memory []uint32) error {
	count := len(memory) / 2
	nodeAt, position := memory[:count], memory[count:]
	for i := range memory {
		memory[i] = unpaired
	}
	n.nodeAt, n.position = nodeAt, position
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
			for i, v := range block {
				p := uint32(first + i)
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

// readAdded reads the ids of nodes added since the load, which have two records each.
func (n *idRepair) readAdded(ctx context.Context) (err error) {
	n.added, n.owners = map[NodeID]string{}, map[string]NodeID{}
	for _, k := range []record.Kind{record.KindAddedID, record.KindAddedNode} {
		prefix := record.Prefix(k, n.tx.cat.Graph)
		err = errors.Join(err, n.tx.eachRecord(ctx, prefix, func(rec record.Record, _ error) error {
			number, err := record.NumberAt(rec.Key, 0)
			v, id := NodeID(number), string(rec.Body)
			if k == record.KindAddedID {
				number, _ := binary.Uvarint(rec.Body)
				v, id, err = NodeID(number), string(rec.Key[len(prefix):]), nil
			}
			n.added[v] = id
			n.owners[id] = max(n.owners[id], v)
			return err
		}))
	}
	return err
}

// errLostID is for a position whose id is not known.
var errLostID = fmt.Errorf("%w: the id cannot be read", ErrCorrupt)

// ids yields the ids of all positions, empty of a removed node, and errLostID if one is not known. Of two nodes of one
// id the later one has it: the removal of the other is lost.
func (n *idRepair) ids(yield func(string, error) bool) {
	ids := n.tx.dict().Reader()
	for position := range n.tx.cat.Nodes {
		v, id, err := NodeID(position), n.added[NodeID(position)], error(nil)
		if position < n.tx.cat.LoadedNodes {
			v = NodeID(n.nodeAt[position])
			id, err = ids.AtPosition(position)
		}
		isLost := errors.Is(err, ErrCorrupt) || n.guessed.Has(NodeID(position)) || validateID(id) != nil
		if owner, has := n.owners[id]; has && owner != v {
			isLost = true
		}
		if n.bulk.removed.Has(v) {
			id, err = "", nil
		} else if isLost && (err == nil || errors.Is(err, ErrCorrupt)) {
			id, err = "", errLostID
		}
		if !yield(id, err) {
			return
		}
	}
}
