package kv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A resolvedPatch is a Patch whose ids are nodes: rows of nodes, edits of edges, and nodes to be removed, each in the
// order of their numbers. The writer's lock is held as long as it is used.
type resolvedPatch struct {
	*Patch
	tx    *Tx // the store as it is
	stats PatchStats
	wrong wrongRow

	// a patchNode for each row: of nodes that are there, by NodeID, then of others, by addedRow | row
	nodes    *spill.Sorter
	pairs    *spill.Sorter // ends of edges, by both nodes and, in a byte, whether the first is the second end
	removals []NodeID      // ascending
	removed  NodeSet       // the same

	ranks []uint32 // of an added node by its row: how many are added before it
}

// addedRow marks the rows of nodes that are added.
const addedRow = 1 << 63

// A wrongRow is the error of the least source, of nodes before edges.
type wrongRow struct {
	err    error
	ofEdge bool
	source int64
}

func (w *wrongRow) note(ofEdge bool, source int64, err error) {
	if w.err == nil || w.ofEdge && !ofEdge || w.ofEdge == ofEdge && source < w.source {
		*w = wrongRow{err, ofEdge, source}
	}
}

func (p *Patch) newSorter() *spill.Sorter { return spill.New(p.s.dir, p.s.opt.MemoryBudget/16) }

func (r *resolvedPatch) close() error {
	r.tx.Close()
	return errors.Join(r.nodes.Close(), r.pairs.Close())
}

// resolve looks up the ids.
func (p *Patch) resolve(ctx context.Context) (r *resolvedPatch, err error) {
	r = &resolvedPatch{Patch: p, tx: p.s.Begin(), nodes: p.newSorter(), pairs: p.newSorter()}
	ends := p.newSorter()
	defer func() {
		if err = errors.Join(err, ends.Close()); err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	r.removed = NewNodeSet(r.tx.NumNodes())
	if err := r.eachID(ctx, ends); err != nil {
		return r, err
	}
	if r.wrong.err != nil {
		return r, r.wrong.err
	}
	if r.tx.cat.Nodes+int(r.stats.Nodes) > record.MaxNodes {
		return r, fmt.Errorf("the store is full: it has %d nodes, and %d more are to be added", r.tx.cat.Nodes, r.stats.Nodes)
	}
	if err := r.number(ctx); err != nil {
		return r, err
	}
	return r, r.pair(ctx, ends)
}

// An idGroup is what is asked for of one id.
type idGroup struct {
	id       string
	v        NodeID // NoNode if there is no such node
	row      *patchNode
	removals int
}

// eachID takes what is asked for of each id together, and hands the ends of edges to ends, by the number of the edge.
func (r *resolvedPatch) eachID(ctx context.Context, ends *spill.Sorter) error {
	var g *idGroup
	done := int64(0)
	for rec, err := range r.ids.Records(ctx) {
		if err != nil {
			return err
		}
		if done++; done%contextEvery == 0 {
			r.opt.Progress("ids", done, r.ids.Len())
		}
		id, kind := rec.Key[:len(rec.Key)-2], rec.Key[len(rec.Key)-1]
		if g == nil || g.id != string(id) {
			if err := r.endGroup(g); err != nil {
				return err
			}
			g = &idGroup{id: string(id)}
			if g.v, err = r.tx.Node(g.id); errors.Is(err, ErrNotFound) {
				g.v = NoNode
			} else if err != nil {
				return err
			}
		}
		if err := r.take(g, kind, rec.Value, ends); err != nil {
			return err
		}
	}
	return r.endGroup(g)
}

// take takes one thing that is asked for of an id.
func (r *resolvedPatch) take(g *idGroup, kind byte, value []byte, ends *spill.Sorter) error {
	switch kind {
	case askNode:
		row := new(patchNode)
		if err := msgpack.Unmarshal(value, row); err != nil {
			return err
		}
		if g.row != nil {
			r.wrong.note(false, row.Source, &RowError{ID: g.id, First: g.row.Source, Source: row.Source, Err: ErrExists})
			return nil
		}
		g.row = row
	case askRemoval:
		source := int64(binary.BigEndian.Uint64(value))
		switch {
		case g.v == NoNode:
			r.wrong.note(false, source, &RowError{ID: g.id, Source: source, Err: ErrNotFound})
		case g.row != nil:
			r.wrong.note(false, source, fmt.Errorf("node %q: %w: it is to be added, and to be removed", g.id, ErrExists))
		case g.removals == 0:
			r.removed.Add(g.v)
		}
		g.removals++
	case askEnd:
		end := parsePatchEnd(value)
		node := uint64(g.v)
		if g.v == NoNode {
			if g.row == nil {
				r.wrong.note(true, end.source, &RowError{Edge: true, ID: g.id, Source: end.source, Err: ErrNotFound})
				return nil
			}
			node = addedRow | g.row.Row
		}
		return ends.AddUint64(2*end.edge+uint64(end.end), append(binary.BigEndian.AppendUint64(nil, node), value...))
	}
	return nil
}

// endGroup takes the row of a group.
func (r *resolvedPatch) endGroup(g *idGroup) error {
	if g == nil || g.row == nil {
		return nil
	}
	key := addedRow | g.row.Row
	if g.v == NoNode {
		r.stats.Nodes++
	} else {
		r.stats.Known++
		key = uint64(g.v)
		if r.opt.Known != nil {
			if err := r.opt.Known(r.tx, g.v, &g.row.Node); err != nil {
				return err
			}
		}
	}
	body, err := msgpack.Marshal(g.row)
	if err != nil {
		return err
	}
	return r.nodes.AddUint64(key, body)
}

// number numbers the added nodes in the order of their rows, and lists the removed ones.
func (r *resolvedPatch) number(ctx context.Context) error {
	for v := range r.removed.All() {
		r.removals = append(r.removals, v)
	}
	r.stats.RemovedNodes = int64(len(r.removals))
	if r.stats.Nodes == 0 {
		return nil
	}
	r.ranks = make([]uint32, r.nodeRows)
	for row, err := range r.rows(ctx) {
		if err != nil {
			return err
		}
		if r.isAdded(row.v) {
			r.ranks[row.Row] = uint32(row.v) - uint32(r.tx.cat.Nodes)
		}
	}
	return nil
}

// A nodeRow is a row of a node, with its number.
type nodeRow struct {
	v NodeID
	patchNode
}

// rows yields the rows of nodes, ascending by their numbers.
func (r *resolvedPatch) rows(ctx context.Context) iter.Seq2[nodeRow, error] {
	return func(yield func(nodeRow, error) bool) {
		next := NodeID(r.tx.cat.Nodes)
		for rec, err := range r.nodes.Records(ctx) {
			var row nodeRow
			if err == nil {
				err = msgpack.Unmarshal(rec.Value, &row.patchNode)
			}
			if err != nil {
				yield(row, err)
				return
			}
			if key := binary.BigEndian.Uint64(rec.Key); key < addedRow {
				row.v = NodeID(key)
			} else {
				row.v = next
				next++
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// isAdded reports whether a node is added.
func (r *resolvedPatch) isAdded(v NodeID) bool { return int(v) >= r.tx.cat.Nodes }

// given returns what rows give to a node in a column; nil if they give nothing.
func (r *resolvedPatch) given(column string) func(row *nodeRow) Value {
	if column == LabelColumn && r.opt.Labels && r.stats.Nodes+r.stats.Known > 0 {
		return func(row *nodeRow) Value { return StringValue(row.Label) }
	}
	i := slices.IndexFunc(r.opt.Properties, func(c Column) bool { return c.Name == column })
	if i < 0 {
		return nil
	}
	return func(row *nodeRow) Value {
		if i < len(row.Values) {
			return row.Values[i]
		}
		return Value{}
	}
}

// pair puts the ends of each edge together, and sorts the edges by both.
func (r *resolvedPatch) pair(ctx context.Context, ends *spill.Sorter) error {
	var u NodeID
	for rec, err := range ends.Records(ctx) {
		if err != nil {
			return err
		}
		v, end := NodeID(binary.BigEndian.Uint64(rec.Value)), parsePatchEnd(rec.Value[8:])
		if number := binary.BigEndian.Uint64(rec.Value); number >= addedRow {
			v = NodeID(r.tx.cat.Nodes) + NodeID(r.ranks[number-addedRow])
		}
		switch {
		case end.end == 0:
			u = v
			continue
		case end.weight != 0 && !r.tx.cat.Weighted:
			return fmt.Errorf("edge at %d: %w: the graph has no weights", end.source, ErrInvalidEdge)
		case u == v:
			if end.remove {
				r.wrong.note(true, end.source, r.missing(u, v, end.source))
			}
			r.stats.SelfLoops++
			continue
		}
		if !r.tx.cat.Directed {
			u, v = min(u, v), max(u, v)
		}
		if err := r.pairs.Add(append(pairBytes(u, v), 0), rec.Value[8:]); err != nil {
			return err
		}
		if err := r.pairs.Add(append(pairBytes(v, u), 1), rec.Value[8:]); err != nil {
			return err
		}
	}
	return r.wrong.err
}

// edits yields the edits of edges under both ends, ascending. Those under the lesser end are counted as they are
// applied. A removal counts for the edge that there was: what is added beside it stays.
func (r *resolvedPatch) edits(ctx context.Context) iter.Seq2[edit, error] {
	return func(yield func(edit, error) bool) {
		var key []byte
		var sum patchEnd
		weight := float64(0)
		next := func() bool {
			if key == nil {
				return true
			}
			u, v := pairOf(key)
			return yield(edit{u, v, r.apply(u, v, key[8] != 0, sum, weight)}, nil)
		}
		for rec, err := range r.pairs.Records(ctx) {
			if err != nil {
				yield(edit{}, err)
				return
			}
			end := parsePatchEnd(rec.Value)
			if !bytes.Equal(rec.Key, key) {
				if !next() {
					return
				}
				key, sum, weight = append(key[:0], rec.Key...), end, 0
			}
			sum.remove = sum.remove && end.remove
			weight += float64(end.weight)
		}
		next()
	}
}

// apply returns the edit of what joins u to v that rows ask for whose weights have a sum; 0: none has one. Back says
// that they ask for the arc from v.
func (r *resolvedPatch) apply(u, v NodeID, back bool, rows patchEnd, sum float64) func(codec.Arc) (codec.Arc, error) {
	return func(a codec.Arc) (codec.Arc, error) {
		weight := &a.Out
		if back {
			weight = &a.In
		}
		if u < v {
			r.count(u, v, back, rows, *weight)
		}
		switch {
		case rows.remove:
			*weight = 0
		case sum != 0:
			if *weight = float32(sum); !codec.ValidWeight(*weight) {
				return a, fmt.Errorf("edge at %d: %w: the sum of its weights is not finite", rows.source, ErrInvalidEdge)
			}
		case *weight == 0:
			*weight = 1
		}
		if !r.tx.cat.Directed {
			a = codec.Arc{Out: *weight, In: *weight}
		}
		return a, nil
	}
}

// count counts an edit, and notes an edge that is to be removed and is not there.
func (r *resolvedPatch) count(u, v NodeID, back bool, rows patchEnd, before float32) {
	switch {
	case rows.remove && before == 0:
		if back {
			u, v = v, u
		}
		r.wrong.note(true, rows.source, r.missing(u, v, rows.source))
	case rows.remove:
		r.stats.RemovedEdges++
	case before != 0:
		r.stats.Present++
	default:
		r.stats.Edges++
	}
}

// missing is the error of an edge that is to be removed and is not there.
func (r *resolvedPatch) missing(u, v NodeID, source int64) error {
	src, err1 := r.tx.ID(u)
	dst, err2 := r.tx.ID(v)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return &RowError{Edge: true, ID: src, To: dst, Source: source, Err: ErrNotFound}
}
