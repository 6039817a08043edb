package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/gap"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// graph writes adjacency and dictionary again if they do not agree, and counts what it writes.
func (r *repair) graph(ctx context.Context) (err error) {
	if !r.recounts {
		broken, err := r.isBroken(ctx, (*checker).dictionary, (*checker).adjacency, (*checker).edgeDeltas)
		if err != nil || !broken {
			return err
		}
	}
	bulk, err := r.write()
	if err != nil {
		return err
	}
	l := &listRepair{repair: r, form: r.tx.cat.arcForm(), edits: bulk.Sorter()}
	n := &nameRepair{repair: r}
	defer func() { err = errors.Join(err, l.edits.Close(), n.close()) }()
	if err := l.prepare(ctx); err != nil {
		return err
	}
	if err := n.prepare(ctx); err != nil {
		return err
	}
	from := source{lists: l.lists, numbers: n.numbers, ids: n.ids}
	for b := range l.bad {
		from.blocks = append(from.blocks, l.dir.Range(b))
	}
	if err := r.rewriter().graph(ctx, from, l.allEdits(ctx), bulk.removed); err != nil {
		return err
	}
	return l.count()
}

// A listRepair reads the lists of a damaged graph.
type listRepair struct {
	*repair
	dir  *graph.Directory
	bad  []bool // by block: some part of it cannot be read
	form codec.ArcForm

	// Of the lists, by node and neighbour: first what the list of the neighbour says, then what changed since the load.
	edits *spill.Sorter
}

// prepare finds what is known of the lists of bad blocks. They are made from those of the other ends; if sound blocks
// contradict each other, so are all.
func (l *listRepair) prepare(ctx context.Context) error {
	if err := l.directory(ctx); err != nil {
		return err
	}
	if err := l.findBad(ctx); err != nil {
		return err
	}
	agree, err := l.collect(ctx, true)
	if err == nil && !agree {
		if err = l.done("adjacency", "some edge is in the list of one of its ends only", "put into both"); err == nil {
			_, err = l.collect(ctx, false)
		}
	}
	if err != nil {
		return err
	}
	return l.deltas(ctx)
}

// lists reads the lists of a block, which are empty if it cannot be read.
func (l *listRepair) lists(b int, lists *Adjacency) error {
	if !l.bad[b] {
		return l.read(b, lists)
	}
	lists.Clear(l.dir.Range(b))
	return nil
}

// directory finds which nodes are in which block, from the blocks. Of several in a row that are missing the first has
// all the nodes between their neighbours.
func (l *listRepair) directory(ctx context.Context) error {
	g, end := l.tx.cat.Graph, uint64(0)
	l.dir = &graph.Directory{Generation: g, Starts: []NodeID{0}}
	err := eachRecord(ctx, l.tx.txn, record.Prefix(record.KindAdjacency, g), func(rec record.Record, _ error) error {
		block, err := record.NumberAt(rec.Key, 0)
		part, err2 := record.NumberAt(rec.Key, 1)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		b := int(block)
		if part > 0 {
			if b < l.dir.Blocks() { // else its first part is missing
				l.dir.Parts[b] = max(l.dir.Parts[b], part+1)
			}
			return nil
		}
		first, rows, ok := blockRows(rec.Body)
		if !ok || first < end || b < l.dir.Blocks() || first+rows > uint64(l.tx.cat.LoadedNodes) {
			return record.Corrupt(rec.Key, "its nodes are not those that follow")
		}
		for ; l.dir.Blocks() < b; end = first {
			l.dir.Add(int(first-end), 1)
		}
		l.dir.Add(int(rows), 1)
		end = first + rows
		return nil
	})
	if left := uint64(l.tx.cat.LoadedNodes) - end; err == nil && left > 0 {
		l.dir.Add(int(left), 1)
	}
	return err
}

// blockRows are the first node of an adjacency block and its number of nodes.
func blockRows(body []byte) (first, rows uint64, ok bool) {
	first, n := binary.Uvarint(body)
	_, m := binary.Uvarint(body[max(n, 0):])
	if n <= 0 || m <= 0 {
		return 0, 0, false
	}
	block, err := gap.Parse(body[n+m:], math.MaxUint32)
	return first, uint64(block.Rows()), err == nil
}

// findBad finds the blocks that cannot be read.
func (l *listRepair) findBad(ctx context.Context) error {
	l.bad = make([]bool, l.dir.Blocks())
	for b := range l.bad {
		if err := ctx.Err(); err != nil {
			return err
		}
		damage := l.read(b, new(Adjacency))
		if damage != nil && !errors.Is(damage, ErrCorrupt) {
			return damage
		}
		rng := l.dir.Range(b)
		if l.bad[b] = damage != nil; !l.bad[b] || rng.Len() == 0 {
			continue
		}
		err := l.done(fmt.Sprintf("adjacency, node numbers %d to %d", rng.First, int64(rng.End)-1), damage.Error(),
			"rebuilt from the lists of their neighbours")
		if err != nil {
			return err
		}
	}
	return nil
}

// read reads the lists of a block, with their arcs, and checks that they ascend and that no node is its own neighbour.
func (l *listRepair) read(b int, buf *Adjacency) error {
	buf.Reset(l.dir.Range(b))
	if err := l.tx.graph().AppendBlock(l.dir, b, buf); err != nil {
		return err
	}
	if l.form.Any() {
		if err := l.tx.graph().AppendArcs(l.dir, b, buf); err != nil {
			return err
		}
	}
	for v := buf.First; v < buf.End; v++ {
		if _, what := wrongList(buf, v, l.form); what != "" {
			return record.Corrupt(record.PairKey(record.KindAdjacency, l.dir.Generation, uint32(b), 0), what)
		}
	}
	return nil
}

// collect adds what sound lists say of the lists of bad blocks, or of sound ones, and says whether sound lists agree.
func (l *listRepair) collect(ctx context.Context, ofBad bool) (agree bool, err error) {
	var sums edgeSums
	var lists Adjacency
	for b := range l.bad {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		l.progress("lists of neighbours", int64(b), int64(len(l.bad)))
		if l.bad[b] {
			continue
		}
		if err := l.read(b, &lists); err != nil {
			return false, err
		}
		for u := lists.First; u < lists.End; u++ {
			for v, a := range edgesOf(&lists, u) {
				bad := l.bad[l.dir.Find(v)]
				if bad == ofBad {
					if err := l.add(v, u, false, a.Reversed()); err != nil {
						return false, err
					}
				}
				if !bad {
					sums.add(u, v, a)
				}
			}
		}
	}
	return sums.agree(), nil
}

// add adds an edit: what the list of the neighbour says, or what changed since.
func (l *listRepair) add(v, neighbor NodeID, changed bool, a codec.Arc) error {
	return l.edits.Add(append(pairBytes(v, neighbor), byte(codec.Bit(changed))),
		codec.AppendFloat32(codec.AppendFloat32(nil, a.Out), a.In))
}

// allEdits yields the edits that were added.
func (l *listRepair) allEdits(ctx context.Context) iter.Seq2[edit, error] {
	return func(yield func(edit, error) bool) {
		for rec, err := range l.edits.Records(ctx) {
			if err != nil {
				yield(edit{}, err)
				return
			}
			v, neighbor := pairOf(rec.Key)
			changed, r := rec.Key[8] != 0, codec.Reader{Rest: rec.Value}
			edited := codec.Arc{Out: codec.ReadFloat32(&r), In: codec.ReadFloat32(&r)}
			apply := func(before codec.Arc) (codec.Arc, error) {
				if !changed && before != (codec.Arc{}) && v < neighbor {
					return before, nil // both lists say something of the arcs: that of the lesser node holds
				}
				return edited, nil
			}
			if !yield(edit{v, neighbor, apply}, nil) {
				return
			}
		}
	}
}

// deltas adds every change of an edge that is under either end, under both.
func (l *listRepair) deltas(ctx context.Context) error {
	prefix := record.Prefix(record.KindEdgeDelta, l.tx.cat.Graph)
	return eachRecord(ctx, l.tx.txn, prefix, func(rec record.Record, _ error) error {
		d, err := l.tx.graph().ParseDelta(rec)
		if err != nil || int64(max(d.U, d.V)) >= int64(l.tx.cat.Nodes) {
			return err // one of a node that is lost is left out
		}
		return errors.Join(l.add(d.U, d.V, true, d.Arc), l.add(d.V, d.U, true, d.Arc.Reversed()))
	})
}

func pairBytes(u, v NodeID) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(u)), uint32(v))
}

func pairOf(b []byte) (u, v NodeID) {
	return NodeID(binary.BigEndian.Uint32(b)), NodeID(binary.BigEndian.Uint32(b[4:]))
}

// count reports the edges and arcs that were counted before and are not left.
func (l *listRepair) count() error {
	draft, before := l.bulk.draft, l.tx.cat
	lost := Loss{Kind: "edge", Count: max(before.Edges-draft.Edges, 0)}
	what := fmt.Sprintf("%d were counted, %d are left", before.Edges, draft.Edges)
	switch {
	case l.uncounted && !slices.Contains(l.bad, true):
		return nil
	case l.uncounted:
		lost.Count = UnknownCount
	case draft.Edges != before.Edges:
	case draft.Arcs < before.Arcs:
		lost = Loss{Kind: "arc", Count: before.Arcs - draft.Arcs}
		what = fmt.Sprintf("%d arcs were counted, %d are left", before.Arcs, draft.Arcs)
	default:
		return nil
	}
	return l.lose(lost, "edges", what, "counted again")
}
