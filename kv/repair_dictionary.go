package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// unpaired stands for a node or a position that is not known.
const unpaired = ^uint32(0)

// A nameRepair holds the dictionary of the load while it is put together, in files.
type nameRepair struct {
	*repair
	nodeAt   *scratch.Array[uint32] // by position
	position *scratch.Array[uint32] // by NodeID
	nameless map[int]bool           // positions whose node is a guess

	added map[NodeID]string // ids of added nodes that only the other direction knows
}

// prepare makes each direction of the dictionary from the other if it is damaged.
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
// together in their order, and these nodes are reported.
func (n *nameRepair) match(ctx context.Context) error {
	count := n.tx.cat.LoadedNodes
	nodeAt, position := n.nodeAt.Data[:count], n.position.Data[:count]
	for i := range count {
		nodeAt[i], position[i] = unpaired, unpaired
	}
	pair := func(p, v uint32) {
		if nodeAt[p] == unpaired && position[v] == unpaired {
			nodeAt[p], position[v] = v, p
		}
	}
	for _, k := range []record.Kind{record.KindNodeAt, record.KindPosition} {
		var block []uint32
		for first := 0; first < count; first += dict.NumbersPerBlock {
			if err := ctx.Err(); err != nil {
				return err
			}
			var damage error
			block, damage = n.tx.dict().Numbers(k, first/dict.NumbersPerBlock, block[:0])
			if damage != nil {
				if !errors.Is(damage, ErrCorrupt) {
					return damage
				}
				if err := n.done(k.String()+" "+strconv.Itoa(first/dict.NumbersPerBlock), damage.Error(), "rebuilt"); err != nil {
					return err
				}
				continue
			}
			for i, x := range block {
				if k == record.KindNodeAt {
					pair(uint32(first+i), x)
				} else {
					pair(x, uint32(first+i))
				}
			}
		}
	}
	var free []int // positions
	for p, v := range nodeAt {
		if v == unpaired {
			free = append(free, p)
		}
	}
	next := 0
	for v, p := range position {
		if p != unpaired {
			continue
		}
		nodeAt[free[next]], position[v] = uint32(v), uint32(free[next])
		if len(free) > 1 {
			n.nameless[free[next]] = true
		}
		next++
	}
	return nil
}

// readAdded reads the ids of nodes added since the load from the records that find them by id, if those of the nodes
// are damaged.
func (n *nameRepair) readAdded(ctx context.Context) error {
	missing := map[NodeID]bool{}
	for v := n.tx.cat.LoadedNodes; v < n.tx.cat.Nodes; v++ {
		if n.bulk.removed.Has(NodeID(v)) {
			continue
		}
		_, damage := n.tx.dict().Reader().AtPosition(v)
		if damage != nil && !errors.Is(damage, ErrCorrupt) {
			return damage
		}
		if damage != nil {
			missing[NodeID(v)] = true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	prefix := record.Prefix(record.KindAddedID, n.tx.cat.Graph)
	return eachRecord(ctx, n.tx.txn, prefix, func(rec record.Record, damage error) error {
		v, size := binary.Uvarint(rec.Body)
		usable := damage == nil && size == len(rec.Body) && v < uint64(n.tx.cat.Nodes)
		if !usable || !missing[NodeID(v)] {
			return nil
		}
		n.added[NodeID(v)] = string(rec.Key[len(prefix):])
		return n.done(record.Describe(dict.AddedNodeKey(n.tx.cat.Graph, NodeID(v))), "it cannot be read", "rebuilt")
	})
}

// errLostID is for a position whose id is not known.
var errLostID = fmt.Errorf("%w: the id cannot be read", ErrCorrupt)

// ids yields the ids of all positions, empty of a removed node, and errLostID if one is not known.
func (n *nameRepair) ids(yield func(string, error) bool) {
	ids := n.tx.dict().Reader()
	for position := range n.tx.cat.Nodes {
		if !yield(n.id(ids, position)) {
			return
		}
	}
}

// id is the id at a position, as ids yields it.
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
	if err == nil && !n.nameless[position] && validateID(id) == nil {
		return id, nil
	}
	if known, ok := n.added[NodeID(position)]; ok {
		return known, nil
	}
	return "", errLostID
}
