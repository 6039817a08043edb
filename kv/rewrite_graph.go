package kv

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// An edit changes what joins a node to one of its neighbours. The zero Arc joins nothing.
type edit struct {
	node, neighbor NodeID
	apply          func(before codec.Arc) (after codec.Arc, err error)
}

// The oldLists are the lists of neighbours that are written again, in blocks of consecutive nodes from 0 on. Later
// nodes have none.
type oldLists struct {
	blocks []Range
	read   func(block int, lists *Adjacency) error
}

// oldLists are those of the snapshot.
func (w *rewriter) oldLists() (oldLists, error) {
	blocks, err := w.tx.AdjacencyBlocks()
	return oldLists{blocks, func(block int, lists *Adjacency) error {
		return w.tx.graph().ReadLists(blocks[block], lists)
	}}, err
}

// lists writes the lists of all nodes of the draft again, with edits, which ascend by node and neighbour, and without
// the edges of some nodes. The draft gets the numbers of edges and arcs.
func (w *rewriter) lists(ctx context.Context, old oldLists, edits iter.Seq2[edit, error], without NodeSet) error {
	draft := w.bulk.draft
	next, stop := iter.Pull2(edits)
	defer stop()
	m := listMerge{
		out: graph.NewWriter(w.bulk.batch.Put, draft.Graph, draft.arcForm()), form: draft.arcForm(), without: without, next: next,
	}
	if err := m.advance(); err != nil {
		return err
	}
	var lists Adjacency
	end := NodeID(0)
	for block, r := range old.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.progress("adjacency", int64(r.First), int64(draft.Nodes))
		if err := old.read(block, &lists); err != nil {
			return err
		}
		for v := r.First; v < r.End; v++ {
			if err := m.write(v, lists.Of(v), lists.ArcsOf(v)); err != nil {
				return err
			}
		}
		end = r.End
	}
	for v := end; int(v) < draft.Nodes; v++ {
		if err := m.write(v, nil, nil); err != nil {
			return err
		}
	}
	draft.Edges = m.entries / 2
	if draft.Directed {
		draft.Arcs = m.arcs / 2
	}
	return m.out.Close()
}

// A listMerge writes lists with their edits.
type listMerge struct {
	out     *graph.Writer
	form    codec.ArcForm
	without NodeSet // these nodes lose their edges

	next func() (edit, error, bool)
	edit edit // the next, if there are more
	more bool

	list          neighborList // the last that was put together
	entries, arcs int64        // that were written
}

// A neighborList is the list of a node, with the arcs to its neighbours.
type neighborList struct {
	nodes []NodeID
	arcs  []codec.Arc
}

func (m *listMerge) advance() (err error) {
	m.edit, err, m.more = m.next()
	return err
}

// edits reports whether the next edit is of a node.
func (m *listMerge) edits(v NodeID) bool { return m.more && m.edit.node == v }

// write writes the list of a node, which comes with arcs if the graph has any.
func (m *listMerge) write(v NodeID, nodes []NodeID, arcs []codec.Arc) error {
	if m.edits(v) || m.without != nil {
		if err := m.merge(v, nodes, arcs); err != nil {
			return err
		}
		nodes, arcs = m.list.nodes, m.list.arcs
		if !m.form.Any() {
			arcs = nil
		}
	}
	m.entries += int64(len(nodes))
	for _, a := range arcs {
		m.arcs += a.Count()
	}
	return m.out.Append(nodes, arcs)
}

// merge puts the list of a node together, from its neighbours before and those of its edits.
func (m *listMerge) merge(v NodeID, nodes []NodeID, arcs []codec.Arc) error {
	m.list.nodes, m.list.arcs = m.list.nodes[:0], m.list.arcs[:0]
	for i := 0; i < len(nodes) || m.edits(v); {
		u, before := NoNode, codec.Arc{}
		if m.edits(v) {
			u = m.edit.neighbor
		}
		if i < len(nodes) && nodes[i] <= u {
			u, before = nodes[i], codec.Arc{Out: 1, In: 1}
			if m.form.Any() {
				before = arcs[i]
			}
			i++
		}
		after := before
		for m.edits(v) && m.edit.neighbor == u {
			var err error
			if after, err = m.edit.apply(after); err != nil {
				return err
			}
			if err := m.advance(); err != nil {
				return err
			}
		}
		if after == (codec.Arc{}) || m.without.Has(v) || m.without.Has(u) {
			continue
		}
		if _, ok := after.Sum(); !ok && m.form.Directed && after != before {
			return fmt.Errorf("edge between nodes number %d and %d: %w: the sum of the weights %v and %v is not finite",
				v, u, ErrInvalidEdge, after.Out, after.In)
		}
		m.list.nodes, m.list.arcs = append(m.list.nodes, u), append(m.list.arcs, after)
	}
	return nil
}

// oldNumbers returns a reader of the blocks of the directions between place and node, each block lent until the next.
func (w *rewriter) oldNumbers() func(k record.Kind, block int) ([]uint32, error) {
	var numbers []uint32
	return func(k record.Kind, block int) (_ []uint32, err error) {
		numbers, err = w.tx.dict().Numbers(k, block, numbers[:0])
		return numbers, err
	}
}

// oldIDs returns a reader of the ids of the snapshot by their places. A removed node has an empty one.
func (w *rewriter) oldIDs() func(position int) (string, error) {
	ids := w.tx.dict().Reader()
	return func(position int) (string, error) {
		if w.bulk.removed != nil {
			v, err := w.tx.dict().NodeAt(position)
			if err != nil || w.bulk.removed.Has(v) {
				return "", err
			}
		}
		return ids.AtPosition(position)
	}
}

// dictionary writes the dictionary of the draft, with its removed nodes. numbers returns the blocks of both directions
// between the place and the number of the nodes of the load. ids begins to read the ids of all places, ascending; a
// removed node has an empty one. An id that damage took is an ErrCorrupt, and another one is made up for it.
func (w *rewriter) dictionary(
	ctx context.Context, numbers func(k record.Kind, block int) ([]uint32, error), ids func() (at func(position int) (string, error), stop func()),
) error {
	if err := w.positions(ctx, numbers); err != nil {
		return err
	}
	if err := putRemovedSet(w.bulk.batch.Put, w.bulk.draft.Graph, w.bulk.removed); err != nil {
		return err
	}
	at, stop := ids()
	madeUp, err := w.readForms(ctx, at)
	stop()
	if err != nil || w.bulk.draft.DenseIDs {
		return err
	}
	at, stop = ids()
	defer stop()
	return w.ids(ctx, at, madeUp)
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

// lostPrefix begins an id that Repair makes up, once or, if other ids begin so, more often. The place in the node file
// follows.
const lostPrefix = "lost-"

// IsLostID reports whether Repair may have made up an id, for a node of which it could not read the id. A room that
// keeps ids of nodes needs it to compare them with those of the store.
func IsLostID(id string) bool {
	count := lostPrefixes(id)
	_, err := strconv.ParseUint(id[count*len(lostPrefix):], 10, 32)
	return count > 0 && err == nil
}

// lostPrefixes is how often an id begins with lostPrefix.
func lostPrefixes(id string) (count int) {
	for strings.HasPrefix(id[count*len(lostPrefix):], lostPrefix) {
		count++
	}
	return count
}

// readForms enters in the draft whether all ids are integers, and whether each is its place, and returns a beginning
// that no id has.
func (w *rewriter) readForms(ctx context.Context, at func(position int) (string, error)) (unused string, err error) {
	repairs := w.lose != nil
	dense, integer, prefixes := true, w.bulk.draft.IntegerIDs || repairs, 0
	for position := 0; position < w.bulk.draft.Nodes && (dense || integer || repairs); position++ {
		if position%contextEvery == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		id, err := at(position)
		switch lost := repairs && errors.Is(err, ErrCorrupt); {
		case lost:
			dense, integer = false, false
		case err != nil:
			return "", err
		case id != "":
			_, is := dict.Integer(id)
			dense, integer = dense && id == strconv.Itoa(position), integer && is
			prefixes = max(prefixes, lostPrefixes(id))
		}
	}
	w.bulk.draft.DenseIDs, w.bulk.draft.IntegerIDs = dense, integer
	return strings.Repeat(lostPrefix, prefixes+1), nil
}

// ids writes the ids, by their places, and how to look them up.
func (w *rewriter) ids(ctx context.Context, at func(position int) (string, error), madeUp string) (err error) {
	out := dict.NewIDWriter(w.bulk.batch.Put, w.bulk.draft.Graph, w.bulk.s.dir, w.bulk.sortMemory(), 1)
	defer func() { err = errors.Join(err, out.Close()) }()
	var lost *stretch
	if w.lose != nil {
		lost = &stretch{tell: func(s *stretch) error {
			return w.lose(Loss{Kind: "id", Count: int64(s.Len())}, fmt.Sprintf("ids of places %d to %d", s.First, s.End-1),
				"the ids of these places in the node file cannot be read", "they are %s%d to %s%d", madeUp, s.First, madeUp, s.End-1)
		}}
	}
	for position := range w.bulk.draft.Nodes {
		if position%contextEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			w.progress("ids", int64(position), int64(w.bulk.draft.Nodes))
		}
		id, err := at(position)
		if err != nil {
			id, err = madeUp+strconv.Itoa(position), lost.add(NodeID(position), err)
		}
		if err == nil {
			err = out.Append(id)
		}
		if err != nil {
			return err
		}
	}
	if err := lost.flush(); err != nil {
		return err
	}
	return out.Finish(ctx)
}
