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

// graph writes adjacency and dictionary again if they are damaged or do not agree, and counts what it writes.
func (r *repair) graph(ctx context.Context, found damagedRecords) error {
	cat := r.tx.cat
	damaged := found.generations[cat.Graph]
	if !damaged {
		c, err := r.checker()
		if err == nil {
			c.report = func(Problem) {}
			err = c.records(ctx) // counts them
		}
		if err == nil {
			damaged, err = r.broken(ctx, c, (*checker).dictionary, (*checker).adjacency, (*checker).edgeDeltas)
		}
		if err != nil {
			return err
		}
	}
	if !damaged {
		return nil
	}
	bulk, err := r.write()
	if err != nil {
		return err
	}
	g, err := bulk.newGeneration()
	if err != nil {
		return err
	}
	bulk.draft.Graph = g
	bulk.draft.LoadedNodes, bulk.draft.EdgeDeltas, bulk.draft.Unnamed = cat.Nodes, 0, cat.Removed
	if err := r.adjacency(ctx, g); err != nil {
		return err
	}
	return r.dictionary(ctx, g)
}

// A listRepair reads the lists of a damaged graph.
type listRepair struct {
	*repair
	dir  *graph.Directory
	bad  []bool // by block: some part of it cannot be read
	all  bool   // every list gets what the lists of others say of it
	form codec.ArcForm
}

// adjacency writes the lists again. The lists of a block that cannot be read are made from those of the other ends; if
// sound blocks contradict each other, so are all.
func (r *repair) adjacency(ctx context.Context, g record.Generation) (err error) {
	l := &listRepair{repair: r, form: r.tx.cat.arcForm()}
	if l.dir, err = r.directory(ctx); err != nil {
		return err
	}
	l.bad = make([]bool, l.dir.Blocks())
	for b := range l.bad {
		if err := ctx.Err(); err != nil {
			return err
		}
		damage := l.read(b, new(Adjacency))
		if damage == nil {
			continue
		}
		if !errors.Is(damage, ErrCorrupt) {
			return damage
		}
		l.bad[b] = true
		rng := l.dir.Range(b)
		if rng.Len() == 0 {
			continue
		}
		err := r.done(fmt.Sprintf("adjacency, node numbers %d to %d", rng.First, int64(rng.End)-1), damage.Error(),
			"rebuilt from the lists of their neighbours")
		if err != nil {
			return err
		}
	}
	halves := r.bulk.Sorter()
	defer func() { err = errors.Join(err, halves.Close()) }()
	agree, err := l.collect(ctx, halves)
	if err != nil {
		return err
	}
	if !agree {
		if err := r.done("adjacency", "some edge is in the list of one of its ends only", "put into both"); err != nil {
			return err
		}
		if err := halves.Close(); err != nil {
			return err
		}
		halves = r.bulk.Sorter()
		l.all = true
		if _, err := l.collect(ctx, halves); err != nil {
			return err
		}
	}
	deltas := r.bulk.Sorter()
	defer func() { err = errors.Join(err, deltas.Close()) }()
	if err := l.deltas(ctx, deltas); err != nil {
		return err
	}
	return l.write(ctx, g, halves, deltas)
}

// directory returns which nodes are in which block, from the blocks if its own records are damaged. The range of a
// block that cannot be read is what is left between its neighbours; of several in a row the first has it.
func (r *repair) directory(ctx context.Context) (*graph.Directory, error) {
	d, damage := r.tx.graph().ReadDirectory()
	if damage == nil || !errors.Is(damage, ErrCorrupt) {
		return d, damage
	}
	d = &graph.Directory{Generation: r.tx.cat.Graph, Starts: []NodeID{0}}
	prefix := record.Prefix(record.KindAdjacency, r.tx.cat.Graph)
	last, end := -1, uint64(0) // the last block that could be read, and where it ends
	err := eachRecord(ctx, r.tx.txn, prefix, func(rec record.Record, _ []byte, broken error) error {
		b, _ := record.NumberOf(rec.Key, 0)
		part, ok := record.NumberOf(rec.Key, 1)
		if !ok || int64(b) > int64(d.Blocks())+int64(r.tx.cat.LoadedNodes) {
			return nil // no reader finds it
		}
		for d.Blocks() <= int(b) {
			d.Starts = append(d.Starts, d.Starts[len(d.Starts)-1])
			d.Parts = append(d.Parts, 1)
		}
		d.Parts[b] = max(d.Parts[b], part+1)
		sound := broken == nil && part == 0
		if !sound {
			return nil
		}
		first, rows, sound := blockRows(rec.Body)
		if !sound || first < end || last == int(b)-1 && first > end || first+rows > uint64(r.tx.cat.LoadedNodes) {
			return nil
		}
		for i := last + 2; i <= int(b); i++ {
			d.Starts[i] = NodeID(first)
		}
		last, end = int(b), first+rows
		d.Starts[b+1] = NodeID(end)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := last + 2; i <= d.Blocks(); i++ {
		d.Starts[i] = NodeID(r.tx.cat.LoadedNodes)
	}
	if left := uint64(r.tx.cat.LoadedNodes) - uint64(d.Starts[d.Blocks()]); left > 0 {
		d.Add(int(left), 1)
	}
	return d, r.done("adjacency directory", damage.Error(), "rebuilt from the blocks")
}

// BlockRows are the first node of an adjacency block and its number of nodes.
func blockRows(body []byte) (first, rows uint64, ok bool) {
	first, n := binary.Uvarint(body)
	_, m := binary.Uvarint(body[max(n, 0):])
	if n <= 0 || m <= 0 {
		return 0, 0, false
	}
	block, err := gap.Parse(body[n+m:], math.MaxUint32)
	return first, uint64(block.Rows()), err == nil
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

// collect adds what sound lists say of those that are to be rebuilt, and says whether sound lists agree.
func (l *listRepair) collect(ctx context.Context, halves *spill.Sorter) (agree bool, err error) {
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
				if bad || l.all {
					if err := halves.Add(pairBytes(v, u), appendArc(nil, a.Reversed())); err != nil {
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

// deltas adds every change of an edge that can be read under either end, under both.
func (l *listRepair) deltas(ctx context.Context, deltas *spill.Sorter) error {
	nodes := int64(l.tx.cat.Nodes)
	prefix := record.Prefix(record.KindEdgeDelta, l.tx.cat.Graph)
	return eachRecord(ctx, l.tx.txn, prefix, func(rec record.Record, _ []byte, damage error) error {
		if damage != nil {
			lost := Loss{Kind: "change of an edge", Count: 1, AtMost: true}
			return l.lose(lost, record.Describe(rec.Key), damage.Error(), "taken from the other end of the edge, if it is there")
		}
		d, err := l.tx.graph().ParseDelta(rec)
		if err != nil || int64(max(d.U, d.V)) >= nodes || d.U == d.V {
			lost := Loss{Kind: "change of an edge", Count: 1, AtMost: true}
			return l.lose(lost, record.Describe(rec.Key), "it is no change of an edge", "removed")
		}
		for _, d := range []graph.Delta{d, {U: d.V, V: d.U, Change: d.Change, Arc: d.Arc.Reversed()}} {
			if err := deltas.Add(pairBytes(d.U, d.V), appendArc([]byte{byte(d.Change)}, d.Arc)); err != nil {
				return err
			}
		}
		return nil
	})
}

func pairBytes(u, v NodeID) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(u)), uint32(v))
}

func pairOf(b []byte) (u, v NodeID) {
	return NodeID(binary.BigEndian.Uint32(b)), NodeID(binary.BigEndian.Uint32(b[4:]))
}

func appendArc(b []byte, a codec.Arc) []byte {
	return codec.AppendFloat32(codec.AppendFloat32(b, a.Out), a.In)
}

func arcOf(b []byte) codec.Arc {
	r := codec.Reader{Rest: b}
	return codec.Arc{Out: codec.ReadFloat32(&r), In: codec.ReadFloat32(&r)}
}

// A neighborList is the list of one node while it is put together.
type neighborList struct {
	nodes []NodeID
	arcs  []codec.Arc
}

// set gives the list a neighbour, or another arc to it; with none it takes it away.
func (n *neighborList) set(v NodeID, a codec.Arc) {
	i, there := slices.BinarySearch(n.nodes, v)
	switch {
	case a == codec.Arc{} && there:
		n.nodes, n.arcs = slices.Delete(n.nodes, i, i+1), slices.Delete(n.arcs, i, i+1)
	case a == codec.Arc{}:
	case there:
		n.arcs[i] = a
	default:
		n.nodes, n.arcs = slices.Insert(n.nodes, i, v), slices.Insert(n.arcs, i, a)
	}
}

// without drops removed neighbours from the list of a node, and the whole list of a removed node.
func (n *neighborList) without(removed NodeSet, v NodeID) {
	if removed == nil {
		return
	}
	count := 0
	for i, u := range n.nodes {
		if !removed.Has(v) && !removed.Has(u) {
			n.nodes[count], n.arcs[count] = u, n.arcs[i]
			count++
		}
	}
	n.nodes, n.arcs = n.nodes[:count], n.arcs[:count]
}

// write writes the lists of a new generation.
func (l *listRepair) write(ctx context.Context, g record.Generation, halves, deltas *spill.Sorter) error {
	nextHalf, stopHalves := iter.Pull2(halves.Records(ctx))
	defer stopHalves()
	nextDelta, stopDeltas := iter.Pull2(deltas.Records(ctx))
	defer stopDeltas()
	half, err, moreHalves := nextHalf()
	if err != nil {
		return err
	}
	delta, err, moreDeltas := nextDelta()
	if err != nil {
		return err
	}
	w := graph.NewWriter(l.bulk.batch.Put, g, l.form)
	var lists Adjacency
	var list neighborList
	entries, arcs := int64(0), int64(0)
	at := -1 // the block that lists holds
	for v := NodeID(0); int(v) < l.tx.cat.Nodes; v++ {
		if v%contextEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			l.progress("adjacency", int64(v), int64(l.tx.cat.Nodes))
		}
		list.nodes, list.arcs = list.nodes[:0], list.arcs[:0]
		if int(v) < l.tx.cat.LoadedNodes {
			b := l.dir.Find(v)
			if b != at && !l.bad[b] {
				if err := l.read(b, &lists); err != nil {
					return err
				}
			}
			at = b
			if !l.bad[b] {
				for u, a := range edgesOf(&lists, v) {
					list.nodes, list.arcs = append(list.nodes, u), append(list.arcs, a)
				}
			}
		}
		for ; moreHalves; half, err, moreHalves = nextHalf() {
			if err != nil {
				return err
			}
			u, neighbor := pairOf(half.Key)
			if u != v {
				break
			}
			l.join(&list, v, neighbor, arcOf(half.Value))
		}
		for ; moreDeltas; delta, err, moreDeltas = nextDelta() {
			if err != nil {
				return err
			}
			u, neighbor := pairOf(delta.Key)
			if u != v {
				break
			}
			a := arcOf(delta.Value[1:])
			if graph.Change(delta.Value[0]) == graph.Removed {
				a = codec.Arc{}
			}
			list.set(neighbor, a)
		}
		list.without(l.bulk.removed, v)
		entries += int64(len(list.nodes))
		for _, a := range list.arcs {
			arcs += a.Count()
		}
		ofList := list.arcs
		if !l.form.Any() {
			ofList = nil
		}
		if err := w.Append(list.nodes, ofList); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return l.count(entries, arcs)
}

// join gives the list of v what the list of a neighbour says of v. If both say something of the arcs, that of the
// lesser node holds.
func (l *listRepair) join(list *neighborList, v, neighbor NodeID, a codec.Arc) {
	if _, there := slices.BinarySearch(list.nodes, neighbor); !there || neighbor < v {
		list.set(neighbor, a)
	}
}

// count takes over the numbers of edges and arcs that were written.
func (l *listRepair) count(entries, arcs int64) error {
	draft := l.bulk.draft
	before, arcsBefore := l.tx.cat.Edges, l.tx.cat.Arcs
	draft.Edges = entries / 2
	if draft.Directed {
		draft.Arcs = arcs / 2
	}
	m := Correction{Where: "edges", What: fmt.Sprintf("%d were counted, %d are left", before, draft.Edges), Done: "counted again"}
	switch {
	case l.uncounted && slices.Contains(l.bad, true):
		m.Lost = Losses{{Kind: "edge", Count: UnknownCount}}
	case draft.Edges < before:
		m.Lost = Losses{{Kind: "edge", Count: before - draft.Edges}}
	case draft.Edges == before && draft.Arcs < arcsBefore:
		m.What = fmt.Sprintf("%d arcs were counted, %d are left", arcsBefore, draft.Arcs)
		m.Lost = Losses{{Kind: "arc", Count: arcsBefore - draft.Arcs}}
	case draft.Edges == before:
		return nil
	}
	return l.tell(m)
}
