package kv

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// An edit changes the arc between a node and one of its neighbours. The zero Arc joins nothing.
type edit struct {
	node, neighbor NodeID
	apply          func(before codec.Arc) (after codec.Arc, err error)
}

// A source is the graph that is written again.
type source struct {
	blocks []Range // of consecutive nodes from 0 on; later nodes have no neighbours
	lists  func(block int, lists *Adjacency) error

	// numbers returns the blocks of both directions between the place and the number of the nodes of the load, each
	// lent until the next.
	numbers func(k record.Kind, block int) ([]uint32, error)

	// ids are those of all places, ascending. A removed node has an empty one. An id that damage took is an
	// ErrCorrupt, which does not end them; another one is made up for it.
	ids iter.Seq2[string, error]
}

// source is the graph of the snapshot.
func (w *rewriter) source() (s source, err error) {
	if s.blocks, err = w.tx.AdjacencyBlocks(); err != nil {
		return s, err
	}
	s.lists = func(block int, lists *Adjacency) error { return w.tx.graph().Read(s.blocks[block], lists, true) }
	var numbers []uint32
	s.numbers = func(k record.Kind, block int) (_ []uint32, err error) {
		numbers, err = w.tx.dict().Numbers(k, block, numbers[:0])
		return numbers, err
	}
	s.ids = func(yield func(string, error) bool) {
		ids := w.tx.dict().Reader()
		for position := range w.tx.cat.Nodes {
			var id string
			var v NodeID
			var err error
			if w.bulk.removed != nil {
				v, err = ids.NodeAt(position)
			}
			if err == nil && !w.bulk.removed.Has(v) {
				id, err = ids.AtPosition(position)
			}
			if !yield(id, err) || err != nil {
				return
			}
		}
	}
	return s, nil
}

// graph writes dictionary and adjacency of the draft, which has the numbers of its nodes already: with edits, which
// ascend by node and neighbour and may need the dictionary, and without the edges of removed nodes. The draft gets the
// numbers of edges and arcs.
func (w *rewriter) graph(ctx context.Context, from source, edits iter.Seq2[edit, error]) error {
	draft := w.bulk.draft
	g, err := w.bulk.draft.newGeneration()
	if err != nil {
		return err
	}
	draft.Graph, draft.LoadedNodes, draft.EdgeDeltas, draft.Unnamed = g, draft.Nodes, 0, draft.Removed
	if err := w.positions(ctx, from.numbers); err != nil {
		return err
	}
	if err := putRemovedSet(w.bulk.batch.Put, g, w.bulk.removed); err != nil {
		return err
	}
	madeUp, err := w.readForms(ctx, from.ids)
	if err == nil && !draft.DenseIDs {
		err = w.ids(ctx, from.ids, madeUp)
	}
	if err != nil {
		return err
	}
	return w.adjacency(ctx, from, edits)
}

// addedRange is how many nodes without lists of the source are written at once.
const addedRange = 1 << 14

// adjacency writes the lists of all nodes.
func (w *rewriter) adjacency(ctx context.Context, from source, edits iter.Seq2[edit, error]) error {
	draft, form, without := w.bulk.draft, w.bulk.draft.arcForm(), w.bulk.removed
	due, err := lookAhead(edits)
	defer due.stop()
	if err != nil {
		return err
	}
	out := graph.NewWriter(w.bulk.batch.Put, draft.Graph, form)
	entries, arcs := int64(0), int64(0)
	var lists Adjacency
	for block := 0; int(out.Next()) < draft.Nodes; block++ {
		w.progress("adjacency", int64(out.Next()), int64(draft.Nodes))
		err := ctx.Err()
		if err == nil && block < len(from.blocks) {
			err = from.lists(block, &lists)
		} else {
			lists.Clear(Range{First: out.Next(), End: NodeID(min(int(out.Next())+addedRange, draft.Nodes))})
		}
		if err == nil {
			err = applyEdits(due, &lists, form)
		}
		if err != nil {
			return err
		}
		for v := lists.First; v < lists.End; v++ {
			nodes, joined := lists.Of(v), lists.ArcsOf(v)
			if without != nil {
				nodes, joined = keep(nodes, joined, func(u NodeID) bool { return !without.Has(v) && !without.Has(u) })
			}
			entries += int64(len(nodes))
			for _, a := range joined {
				arcs += a.Count()
			}
			if err := out.Append(nodes, joined); err != nil {
				return err
			}
		}
	}
	draft.Edges = entries / 2
	if draft.Directed {
		draft.Arcs = arcs / 2
	}
	return out.Close()
}

// keep leaves in a list, and among its arcs if it has any, what is to stay.
func keep(nodes []NodeID, arcs []codec.Arc, stays func(u NodeID) bool) ([]NodeID, []codec.Arc) {
	n := 0
	for i, u := range nodes {
		if !stays(u) {
			continue
		}
		if nodes[n] = u; arcs != nil {
			arcs[n] = arcs[i]
		}
		n++
	}
	return nodes[:n], arcs[:min(n, len(arcs))]
}

// applyEdits makes the edits of the nodes of lists.
func applyEdits(due *ahead[edit], lists *Adjacency, form codec.ArcForm) error {
	var deltas []graph.Delta
	for due.more && due.now.node < lists.End {
		d := graph.Delta{U: due.now.node, V: due.now.neighbor}
		d.Arc = lists.Arc(d.U, d.V)
		before := d.Arc
		var err error
		if d.Arc, err = applyPair(due, d.Arc); err == nil {
			err = d.Check(form)
		}
		if err != nil {
			return err
		}
		if d.Arc != before {
			deltas = append(deltas, d)
		}
	}
	if len(deltas) > 0 {
		lists.Apply(deltas, form.Any())
	}
	return nil
}

// applyPair makes all edits of the pair that is due. The arc between two of them may be one that no graph has.
func applyPair(due *ahead[edit], arc codec.Arc) (_ codec.Arc, err error) {
	u, v := due.now.node, due.now.neighbor
	for err == nil && due.more && due.now.node == u && due.now.neighbor == v {
		if arc, err = due.now.apply(arc); err == nil {
			err = due.advance()
		}
	}
	return arc, err
}

// positions writes both directions between place and node. A node that was added since the load has its number for a
// place.
func (w *rewriter) positions(ctx context.Context, numbers func(k record.Kind, block int) ([]uint32, error)) error {
	loaded, draft := w.tx.cat.LoadedNodes, w.bulk.draft
	for _, k := range []record.Kind{record.KindNodeAt, record.KindPosition} {
		out := dict.NewNumberWriter(w.bulk.batch.Put, k, draft.Graph)
		for block := range (loaded + dict.NumbersPerBlock - 1) / dict.NumbersPerBlock {
			if err := ctx.Err(); err != nil {
				return err
			}
			block, err := numbers(k, block)
			if err != nil {
				return err
			}
			if err := out.Append(block...); err != nil {
				return err
			}
		}
		for v := loaded; v < draft.Nodes; v++ {
			if err := out.Append(uint32(v)); err != nil {
				return err
			}
		}
		if err := out.Close(); err != nil {
			return err
		}
	}
	return nil
}

// readForms enters in the draft whether all ids are integers, and whether each is its place, and returns a beginning
// that no id has.
func (w *rewriter) readForms(ctx context.Context, ids iter.Seq2[string, error]) (unused string, err error) {
	repairs := w.lose != nil
	dense, integer, position := true, w.bulk.draft.IntegerIDs || repairs, 0
	unused = LostPrefix
	for id, err := range ids {
		if !dense && !integer && !repairs {
			break
		}
		if position%record.ContextEvery == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		switch lost := repairs && errors.Is(err, ErrCorrupt); {
		case lost:
			dense, integer = false, false
		case err != nil:
			return "", err
		case id != "":
			_, is := dict.Integer(id)
			dense, integer = dense && id == strconv.Itoa(position), integer && is
			for strings.HasPrefix(id, unused) {
				unused += LostPrefix
			}
		}
		position++
	}
	w.bulk.draft.DenseIDs, w.bulk.draft.IntegerIDs = dense, integer
	return unused, nil
}

// ids writes the ids, by their places, and how to look them up.
func (w *rewriter) ids(ctx context.Context, ids iter.Seq2[string, error], madeUp string) (err error) {
	out := dict.NewIDWriter(w.bulk.batch.Put, w.bulk.draft.Graph, w.bulk.s.dir, w.bulk.s.sortMemory(), 1)
	defer func() { err = errors.Join(err, out.Close()) }()
	lost := lsm.Loss{Kind: "id"}
	position := 0
	for id, err := range ids {
		if position%record.ContextEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			w.progress("ids", int64(position), int64(w.bulk.draft.Nodes))
		}
		if w.lose != nil && errors.Is(err, ErrCorrupt) {
			id, err = madeUp+strconv.Itoa(position), nil
			lost.Count++
		}
		if err == nil {
			err = out.Append(id)
		}
		if err != nil {
			return err
		}
		position++
	}
	if lost.Count > 0 {
		w.lose(lost, "ids", errLostID.Error(), "they are %sN, with the place N in the node file", madeUp)
	}
	return out.Finish(ctx)
}
