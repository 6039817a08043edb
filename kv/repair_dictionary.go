package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// none stands for a node or a position that is not known.
const none = ^uint32(0)

// A nameRepair holds the dictionary of the load while it is put together, in files.
type nameRepair struct {
	*repair
	nodeAt   *scratch.Array[uint32] // by position
	position *scratch.Array[uint32] // by NodeID
	nameless map[int]bool           // positions whose node is a guess

	added map[NodeID]string // ids of added nodes that only the other direction knows
	lost  string            // what made-up ids begin with
}

// dictionary writes the dictionary again: each direction from the other where it is damaged.
func (r *repair) dictionary(ctx context.Context, g record.Generation) (err error) {
	n := &nameRepair{repair: r, nameless: map[int]bool{}, added: map[NodeID]string{}}
	defer func() {
		for _, a := range []*scratch.Array[uint32]{n.nodeAt, n.position} {
			if a != nil {
				err = errors.Join(err, a.Close())
			}
		}
	}()
	files := r.s.Scratch()
	if n.nodeAt, err = scratch.New[uint32](files, "repair-node-at", max(r.tx.cat.LoadedNodes, 1)); err != nil {
		return err
	}
	if n.position, err = scratch.New[uint32](files, "repair-position", max(r.tx.cat.LoadedNodes, 1)); err != nil {
		return err
	}
	if err := n.match(ctx); err != nil {
		return err
	}
	if err := n.writePositions(ctx, g); err != nil {
		return err
	}
	if err := n.readAdded(ctx); err != nil {
		return err
	}
	return n.writeIDs(ctx, g)
}

// match finds the node of every position. Where neither direction says it, nodes and positions that are left are put
// together in their order, and these nodes are told of.
func (n *nameRepair) match(ctx context.Context) error {
	count := n.tx.cat.LoadedNodes
	nodeAt, position := n.nodeAt.Data[:count], n.position.Data[:count]
	for i := range count {
		nodeAt[i], position[i] = none, none
	}
	pair := func(p, v uint32) {
		if nodeAt[p] == none && position[v] == none {
			nodeAt[p], position[v] = v, p
		}
	}
	for _, k := range []record.Kind{record.KindNodeAt, record.KindPosition} {
		var block []uint32
		for first := 0; first < count; first += numbersPerBlock {
			if err := ctx.Err(); err != nil {
				return err
			}
			var damage error
			block, damage = n.tx.numbers(k, first/numbersPerBlock, block[:0])
			if damage != nil {
				if !errors.Is(damage, ErrCorrupt) {
					return damage
				}
				if err := n.done(k.String()+" "+strconv.Itoa(first/numbersPerBlock), damage.Error(), "made again"); err != nil {
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
		if v == none {
			free = append(free, p)
		}
	}
	next := 0
	for v, p := range position {
		if p != none {
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

func (n *nameRepair) writePositions(ctx context.Context, g record.Generation) error {
	for _, k := range []record.Kind{record.KindNodeAt, record.KindPosition} {
		numbers := n.nodeAt.Data
		if k == record.KindPosition {
			numbers = n.position.Data
		}
		w := numberWriter{put: n.bulk.batch.Put, kind: k, generation: g}
		for i := range n.tx.cat.Nodes {
			if i%contextEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			number := uint32(i) // of a node added later
			if i < n.tx.cat.LoadedNodes {
				number = numbers[i]
			}
			if err := w.append(number); err != nil {
				return err
			}
		}
		if err := w.close(); err != nil {
			return err
		}
	}
	return nil
}

// readAdded reads the ids of nodes added since the load from the records that find them by id, where those of the nodes
// are damaged.
func (n *nameRepair) readAdded(ctx context.Context) error {
	missing := map[NodeID]bool{}
	for v := n.tx.cat.LoadedNodes; v < n.tx.cat.Nodes; v++ {
		_, damage := n.tx.newIDReader().atPosition(v)
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
	return eachRecord(ctx, n.s.db, prefix, nil, func(rec record.Record, _ []byte, damage error) error {
		v, size := binary.Uvarint(rec.Body)
		usable := damage == nil && size == len(rec.Body) && v < uint64(n.tx.cat.Nodes)
		if !usable || !missing[NodeID(v)] {
			return nil
		}
		n.added[NodeID(v)] = string(rec.Key[len(prefix):])
		return n.done(record.Describe(addedNodeKey(n.tx.cat.Graph, NodeID(v))), "it cannot be read", "made again")
	})
}

// each calls use with the id of every position; lost where it is not known.
func (n *nameRepair) each(ctx context.Context, use func(position int, id string, lost bool) error) error {
	ids := n.tx.newIDReader()
	for position := range n.tx.cat.Nodes {
		if position%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		id, err := ids.atPosition(position)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return err
		}
		lost := err != nil || n.nameless[position] || validateID(id) != nil
		if known, ok := n.added[NodeID(position)]; ok && lost {
			id, lost = known, false
		}
		if err := use(position, id, lost); err != nil {
			return err
		}
	}
	return nil
}

// lostPrefix begins an id that Repair makes up, once or, where other ids begin so, more often. The place in the node file
// follows.
const lostPrefix = "lost-"

// IsLostID reports whether Repair may have made up an id, for a node of which it could not read the id.
func IsLostID(id string) bool {
	place, is := strings.CutPrefix(id, lostPrefix)
	for is {
		if _, err := strconv.ParseUint(place, 10, 32); err == nil {
			return true
		}
		place, is = strings.CutPrefix(place, lostPrefix)
	}
	return false
}

func (n *nameRepair) writeIDs(ctx context.Context, g record.Generation) (err error) {
	draft := n.bulk.draft
	draft.DenseIDs, draft.IntegerIDs = true, true
	n.lost = lostPrefix
	again := true
	for again { // until no id looks like one that is made up
		again = false
		err := n.each(ctx, func(position int, id string, lost bool) error {
			_, integer := integerID(id)
			draft.IntegerIDs = draft.IntegerIDs && integer && !lost
			draft.DenseIDs = draft.DenseIDs && !lost && id == strconv.Itoa(position)
			again = again || !lost && strings.HasPrefix(id, n.lost)
			return nil
		})
		if err != nil {
			return err
		}
		if again {
			n.lost += lostPrefix
		}
	}
	if draft.DenseIDs {
		return nil
	}
	w := newIDWriter(n.bulk.batch.Put, g, n.bulk.Dir(), n.bulk.SortMemory())
	defer func() { err = errors.Join(err, w.close()) }()
	var unnamed stretch
	err = n.each(ctx, func(position int, id string, lost bool) error {
		n.progress("ids", int64(position), int64(n.tx.cat.Nodes))
		if !lost {
			return w.append(id)
		}
		at := stretch{Range{NodeID(position), NodeID(position + 1)}, "the ids of these places in the node file cannot be read"}
		if err := n.places(&unnamed, at); err != nil {
			return err
		}
		return w.append(n.lost + strconv.Itoa(position))
	})
	if err != nil {
		return err
	}
	if err := n.places(&unnamed, stretch{}); err != nil {
		return err
	}
	return w.finish(ctx)
}

// places is nulls for ids.
func (n *nameRepair) places(s *stretch, next stretch) error {
	if s.Len() > 0 && (next.Len() == 0 || next.First != s.End) {
		where := fmt.Sprintf("ids of places %d to %d", s.First, s.End-1)
		lost := Loss{Kind: "id", Count: int64(s.Len())}
		if err := n.lose(lost, where, s.what, "they are %s%d to %s%d", n.lost, s.First, n.lost, s.End-1); err != nil {
			return err
		}
		*s = next
		return nil
	}
	if s.Len() == 0 {
		*s = next
	} else {
		s.End = next.End
	}
	return nil
}
