package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// graph writes adjacency and dictionary again if they do not agree, and counts what it writes.
func (r *repair) graph(ctx context.Context) (err error) {
	if !r.recounts {
		broken, err := r.isBroken(ctx, (*checker).dictionary, (*checker).adjacency)
		if err != nil || !broken {
			return err
		}
	}
	w, err := r.rewriter(ctx)
	if err != nil {
		return err
	}
	loaded := r.tx.cat.LoadedNodes
	numbers, err := scratch.New[uint32](r.s.Scratch(), "repair-ids", max(2*loaded, 1))
	if err != nil {
		return err
	}
	l := &listRepair{repair: r, form: r.tx.cat.arcForm(), edits: w.bulk.Sorter()}
	n := &idRepair{repair: r}
	defer func() { err = errors.Join(err, l.edits.Close(), numbers.Close()) }()
	if err := errors.Join(l.prepare(ctx), n.match(ctx, numbers.Data[:2*loaded]), n.readAdded(ctx)); err != nil {
		return err
	}
	from := source{lists: l.lists, numbers: n.numbers, ids: n.ids}
	for b := range l.bad {
		from.blocks = append(from.blocks, l.partition.Range(b))
	}
	if err := w.graph(ctx, from, l.allEdits(ctx)); err != nil {
		return err
	}
	l.count()
	return nil
}

// A listRepair reads the lists of a damaged graph.
type listRepair struct {
	*repair
	partition *graph.Partition
	bad       []bool // by block: some part of it cannot be read
	form      codec.ArcForm

	// By node and neighbour: of nodes of bad blocks what the lists of their neighbours say, and then what changed since
	// the load.
	edits *spill.Sorter
}

// prepare finds the bad blocks, and what is known of their lists.
func (l *listRepair) prepare(ctx context.Context) error {
	if err := l.findBlocks(ctx); err != nil {
		return err
	}
	l.bad = make([]bool, l.partition.Blocks())
	if err := l.eachBlock(ctx, func(*Adjacency) error { return nil }); err != nil {
		return err
	}
	if slices.Contains(l.bad, true) {
		if err := l.eachBlock(ctx, l.collect); err != nil {
			return err
		}
	}
	return l.deltas(ctx)
}

// lists reads the lists of a block, which are empty if it cannot be read.
func (l *listRepair) lists(b int, lists *Adjacency) error {
	if !l.bad[b] {
		return l.read(b, lists)
	}
	lists.Clear(l.partition.Range(b))
	return nil
}

// findBlocks finds which nodes are in which block, from the blocks. Of several in a row that are missing the first has
// all the nodes between their neighbours.
func (l *listRepair) findBlocks(ctx context.Context) error {
	g, end := l.tx.cat.Graph, uint64(0)
	partition := graph.NewPartition(g)
	l.partition = &partition
	err := l.tx.eachRecord(ctx, record.Prefix(record.KindAdjacency, g), func(rec record.Record, _ error) error {
		block, err := record.NumberAt(rec.Key, 0)
		if err != nil || record.IsLaterPart(rec.Key) {
			return err
		}
		b := int(block)
		_, body, err := record.FirstPart(rec.Key, rec.Body)
		if err != nil {
			return err
		}
		first, rows, ok := blockRows(body)
		if !ok || first < end || b < l.partition.Blocks() || first+rows > uint64(l.tx.cat.LoadedNodes) {
			return record.Corrupt(rec.Key, "its nodes are not those that follow")
		}
		for ; l.partition.Blocks() < b; end = first {
			l.partition.Add(int(first - end))
		}
		l.partition.Add(int(rows))
		end = first + rows
		return nil
	})
	if left := uint64(l.tx.cat.LoadedNodes) - end; err == nil && left > 0 {
		l.partition.Add(int(left))
	}
	return err
}

// blockRows are the first node of an adjacency block and its number of nodes, by the beginning of its body.
func blockRows(body []byte) (first, rows uint64, ok bool) {
	first, n := binary.Uvarint(body)
	rows, m := binary.Uvarint(body[max(n, 0):])
	return first, rows, n > 0 && m > 0 && rows <= record.MaxNodes && first <= record.MaxNodes
}

// eachBlock calls use with the lists of each block that is not bad. Those that cannot be read it makes bad.
func (l *listRepair) eachBlock(ctx context.Context, use func(lists *Adjacency) error) error {
	var lists Adjacency
	for b, isBad := range l.bad {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.progress("adjacency", int64(b), int64(len(l.bad)))
		if isBad {
			continue
		}
		err := l.read(b, &lists)
		if errors.Is(err, ErrCorrupt) {
			l.bad[b] = true
			if rng := l.partition.Range(b); rng.Len() > 0 {
				where := fmt.Sprintf("adjacency, node numbers %d to %d", rng.First, rng.End-1)
				l.done(where, err.Error(), "rebuilt from the lists of their neighbours")
			}
			err = nil
		} else if err == nil {
			err = use(&lists)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read reads the lists of a block, with their arcs.
func (l *listRepair) read(b int, buf *Adjacency) error {
	buf.Reset(l.partition.Range(b))
	return l.tx.graph().AppendBlock(l.partition, b, buf, l.form.Any())
}

// collect adds what lists say of those of bad blocks.
func (l *listRepair) collect(lists *Adjacency) error {
	for u := lists.First; u < lists.End; u++ {
		for v, a := range lists.Edges(u) {
			if l.bad[l.partition.Find(v)] {
				if err := l.add(v, u, false, a.Reversed()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// add adds an edit: what the list of the neighbour says, or what changed since.
func (l *listRepair) add(v, neighbor NodeID, changed bool, a codec.Arc) error {
	return l.edits.Add(append(pairBytes(v, neighbor), byte(codec.Bit(changed))),
		codec.AppendFloat32(codec.AppendFloat32(nil, a.Out), a.In))
}

// allEdits yields the edits that were added. Of two of an edge the later one counts.
func (l *listRepair) allEdits(ctx context.Context) iter.Seq2[edit, error] {
	return func(yield func(edit, error) bool) {
		for rec, err := range l.edits.Records(ctx) {
			var e edit
			if err == nil {
				r := codec.Reader{Rest: rec.Value}
				a := codec.Arc{Out: codec.ReadFloat32(&r), In: codec.ReadFloat32(&r)}
				e.node, e.neighbor = pairOf(rec.Key)
				e.apply = func(codec.Arc) (codec.Arc, error) { return a, nil }
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// deltas adds every change of an edge that is under either end, under both.
func (l *listRepair) deltas(ctx context.Context) error {
	prefix := record.Prefix(record.KindEdgeDelta, l.tx.cat.Graph)
	return l.tx.eachRecord(ctx, prefix, func(rec record.Record, _ error) error {
		d, err := l.tx.graph().ParseDelta(rec)
		if err != nil || int64(max(d.U, d.V)) >= int64(l.tx.cat.Nodes) {
			return err // one of a node that is lost is left out
		}
		return errors.Join(l.add(d.U, d.V, true, d.Arc), l.add(d.V, d.U, true, d.Arc.Reversed()))
	})
}

// pairNumber is two nodes as one number.
func pairNumber(u, v NodeID) uint64 { return uint64(u)<<32 | uint64(v) }

func pairBytes(u, v NodeID) []byte { return binary.BigEndian.AppendUint64(nil, pairNumber(u, v)) }

func pairOf(b []byte) (u, v NodeID) {
	return NodeID(binary.BigEndian.Uint32(b)), NodeID(binary.BigEndian.Uint32(b[4:]))
}

// count reports the edges that were counted before and are not left.
func (l *listRepair) count() {
	before, now := l.tx.cat.Edges, l.bulk.draft.Edges
	lost := lsm.Loss{Kind: "edge", Count: max(before-now, 0)}
	switch {
	case l.uncounted && slices.Contains(l.bad, true):
		lost.Count = UnknownCount
	case l.uncounted || before == now:
		return
	}
	l.lose(lost, "edges", fmt.Sprintf("%d were counted, %d are left", before, now), "counted again")
}

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
	n.guessed = bitset.New[NodeID](count)
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
