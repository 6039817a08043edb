package kv

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A resolvedPatch is a Patch whose ids are nodes.
type resolvedPatch struct {
	*Patch
	b       *Bulk         // of a rewrite; it has the writer's lock
	tx      *Tx           // the store as it is
	nodes   *spill.Sorter // rows of nodes, by NodeID
	removed NodeSet
	wrong   error // a *RowError of the least source; nil for none
	source  int64 // of the row that is wrong
	stats   Stats
}

// note notes a row that is wrong.
func (r *resolvedPatch) note(row RowError) {
	if r.wrong == nil || row.Source < r.source {
		r.wrong, r.source = &row, row.Source
	}
}

// resolve finds the nodes of rows of nodes, and numbers those that are added.
func (r *resolvedPatch) resolve(ctx context.Context) (err error) {
	ids := r.b.Sorter() // sources of rows, by id
	defer func() { err = errors.Join(err, ids.Close()) }()
	r.removed = bitset.New[NodeID](r.tx.NumNodes())
	for rec, err := range r.Patch.nodes.Records(ctx) {
		var row patchNode
		if err == nil {
			err = msgpack.Unmarshal(rec.Value, &row)
		}
		if err != nil {
			return err
		}
		v, err := r.tx.Node(row.ID)
		added := errors.Is(err, ErrNotFound)
		switch {
		case err != nil && !added:
			return err
		case row.Remove && added:
			r.note(RowError{ID: row.ID, Source: row.Source, Err: ErrNotFound})
			continue
		case row.Remove:
			r.removed.Add(v)
			continue
		case added:
			v = NodeID(r.tx.cat.Nodes + int(r.stats.Nodes))
			r.stats.Nodes++
		default:
			r.stats.Known++
			if r.opt.Known != nil {
				if err := r.opt.Known(r.tx, v, &row.Node); err != nil {
					return err
				}
			}
		}
		body, err := msgpack.Marshal(row.Node)
		if err == nil {
			err = r.nodes.AddUint64(uint64(v), body)
		}
		if err = cmp.Or(err, ids.Add([]byte(row.ID), binary.AppendVarint(nil, row.Source))); err != nil {
			return err
		}
	}
	r.stats.RemovedNodes = int64(r.removed.Len())
	if count := r.tx.cat.Nodes + int(r.stats.Nodes); count > record.MaxNodes {
		return fmt.Errorf("the store is full: it would have %d nodes", count)
	}
	return r.checkDistinct(ctx, ids)
}

// checkDistinct returns an error if a row of a node is wrong, or has the id of one before it, given the sources by id.
func (r *resolvedPatch) checkDistinct(ctx context.Context, ids *spill.Sorter) error {
	var id []byte
	var first int64
	for rec, err := range ids.Records(ctx) {
		if err != nil {
			return err
		}
		source, _ := binary.Varint(rec.Value)
		if bytes.Equal(rec.Key, id) {
			r.note(RowError{ID: string(id), First: first, Source: source, Err: ErrExists})
		} else {
			id, first = append(id[:0], rec.Key...), source
		}
	}
	return r.wrong
}

// rows yields the rows of nodes, ascending by their numbers.
func (r *resolvedPatch) rows(ctx context.Context) iter.Seq2[changedRow[Node], error] {
	return sortedRows(ctx, r.nodes, func(body []byte) (n Node, err error) { return n, msgpack.Unmarshal(body, &n) })
}

// sortedRows yields the rows of a sorter, by NodeID, as decode reads them.
func sortedRows[R any](
	ctx context.Context, sorted *spill.Sorter, decode func(body []byte) (R, error),
) iter.Seq2[changedRow[R], error] {
	return func(yield func(changedRow[R], error) bool) {
		for rec, err := range sorted.Records(ctx) {
			var x changedRow[R]
			if err == nil {
				x.node = NodeID(binary.BigEndian.Uint64(rec.Key))
				x.row, err = decode(rec.Value)
			}
			if !yield(x, err) || err != nil {
				return
			}
		}
	}
}

// isAdded reports whether a node is added.
func (r *resolvedPatch) isAdded(v NodeID) bool { return int(v) >= r.tx.cat.Nodes }

// values are the values that rows give to nodes in a column, ascending; nil if they do not tell of it.
func (r *resolvedPatch) values(ctx context.Context, column string) iter.Seq2[changedRow[Value], error] {
	i := slices.IndexFunc(r.opt.Properties, func(c Column) bool { return c.Name == column })
	isLabel := column == LabelColumn && r.opt.Labels && r.nodes.Len() > 0
	if i < 0 && !isLabel {
		return nil
	}
	return func(yield func(changedRow[Value], error) bool) {
		for n, err := range r.rows(ctx) {
			x := changedRow[Value]{node: n.node}
			if isLabel {
				x.row = ValueOf(n.row.Label)
			} else if i < len(n.row.Values) {
				x.row = n.row.Values[i]
			}
			if !yield(x, err) {
				return
			}
		}
	}
}

// columns are those of the store, and after them those that the Patch adds.
func (r *resolvedPatch) columns() []Column {
	columns := r.tx.Columns()
	for _, column := range r.opt.Properties {
		if _, there := r.tx.Column(column.Name); !there {
			columns = append(columns, Column{Name: column.Name, Kind: column.Kind})
		}
	}
	return columns
}

// eachEnd hands each row of edges to use, with the node of the end by which they are sorted. tx has the nodes that are
// added.
func (r *resolvedPatch) eachEnd(
	ctx context.Context, tx *Tx, rows *spill.Sorter, use func(v NodeID, row []byte) error,
) error {
	var id []byte
	var v NodeID
	var unknown error
	done := int64(0)
	for rec, err := range rows.Records(ctx) {
		if err != nil {
			return err
		}
		if done++; done%record.ContextEvery == 0 {
			r.opt.Progress("ids", done, rows.Len())
		}
		if id == nil || !bytes.Equal(rec.Key, id) {
			id = append(id[:0], rec.Key...)
			if v, unknown = tx.Node(string(id)); errors.Is(unknown, ErrNotFound) {
				v, unknown = r.tx.Node(string(id)) // it is to be removed
			}
			if unknown != nil && !errors.Is(unknown, ErrNotFound) {
				return unknown
			}
		}
		if unknown != nil {
			r.note(RowError{Edge: true, ID: string(id), Source: parsePatchEdge(rec.Value).source, Err: ErrNotFound})
		} else if err := use(v, rec.Value); err != nil {
			return err
		}
	}
	return nil
}

// pair puts the rows of edges into pairs, by both nodes, in a byte whether the first is the second end, and the source.
func (r *resolvedPatch) pair(ctx context.Context, tx *Tx, pairs *spill.Sorter) (err error) {
	bySecond := r.b.Sorter()
	defer func() { err = errors.Join(err, bySecond.Close()) }()
	err = r.eachEnd(ctx, tx, r.Patch.edges, func(u NodeID, row []byte) error {
		edge, dst := row[:patchEdgeSize:patchEdgeSize], row[patchEdgeSize:]
		return bySecond.Add(dst, binary.BigEndian.AppendUint32(edge, uint32(u)))
	})
	if err != nil {
		return err
	}
	err = r.eachEnd(ctx, tx, bySecond, func(v NodeID, row []byte) error {
		edge, u := row[:patchEdgeSize], NodeID(binary.BigEndian.Uint32(row[patchEdgeSize:]))
		switch row := parsePatchEdge(edge); {
		case u == v && row.remove:
			r.noteMissing(u, v, row.source)
			return nil
		case u == v:
			r.stats.SelfLoops++
			return nil
		case !r.tx.cat.Directed:
			u, v = min(u, v), max(u, v)
		}
		source := edge[:8]
		err := pairs.Add(slices.Concat(pairBytes(u, v), []byte{0}, source), edge)
		return cmp.Or(err, pairs.Add(slices.Concat(pairBytes(v, u), []byte{1}, source), edge))
	})
	return cmp.Or(err, r.wrong)
}

// noteMissing notes an edge that is to be removed and is not there.
func (r *resolvedPatch) noteMissing(u, v NodeID, source int64) {
	src, err1 := r.tx.ID(u)
	dst, err2 := r.tx.ID(v)
	r.note(RowError{Edge: true, ID: src, To: dst, Source: source, Err: cmp.Or(err1, err2, ErrNotFound)})
}

// edits yields the edits of the rows of edges under both ends, ascending. Those under the lesser end are counted as
// they are applied. tx has the nodes that are added.
func (r *resolvedPatch) edits(ctx context.Context, tx *Tx) iter.Seq2[edit, error] {
	return func(yield func(edit, error) bool) {
		pairs := r.b.Sorter()
		defer pairs.Close() //nolint:errcheck // the next open removes what it cannot
		if err := r.pair(ctx, tx, pairs); err != nil {
			yield(edit{}, err)
			return
		}
		var last []byte
		sum := 0.0 // of the weights of the same edge so far
		for rec, err := range pairs.Records(ctx) {
			if err != nil {
				yield(edit{}, err)
				return
			}
			arc := rec.Key[:9]
			u, v := pairOf(arc)
			a := askedArc{u, v, parsePatchEdge(rec.Value), 0, arc[8] != 0, u < v, bytes.Equal(arc, last)}
			if a.back {
				a.src, a.dst = v, u
			}
			if !a.again {
				last, sum = append(last[:0], arc...), 0
			}
			sum += float64(a.row.weight)
			a.weight = float32(sum)
			if !yield(edit{u, v, func(arc codec.Arc) (codec.Arc, error) { return r.apply(a, arc) }}, nil) {
				return
			}
		}
	}
}

// An askedArc is a row's change of the arc between two nodes.
type askedArc struct {
	src, dst NodeID
	row      patchEdge
	weight   float32 // with those of the rows before it; 0: not given
	back     bool    // the list in which it is applied is that of dst
	counts   bool    // that list, of the two, is the one in which it is counted
	again    bool    // another row asked before
}

// apply returns the arc between two nodes once a row was applied.
func (r *resolvedPatch) apply(a askedArc, before codec.Arc) (after codec.Arc, err error) {
	after = before
	weight := &after.Out
	if a.back {
		weight = &after.In
	}
	there := *weight != 0
	if a.counts {
		r.count(a, there)
	}
	switch {
	case r.removed.Has(a.src) || r.removed.Has(a.dst): // it goes with its end
		return before, nil
	case a.row.remove:
		*weight = 0
	case a.weight != 0 && !codec.ValidWeight(a.weight):
		return before, fmt.Errorf("edge at %d: %w: the sum of its weights is not finite", a.row.source, ErrInvalidEdge)
	case a.weight != 0:
		*weight = a.weight
	case !there:
		*weight = 1
	}
	if !r.tx.cat.Directed {
		after = codec.Arc{Out: *weight, In: *weight}
	}
	return after, nil
}

// count counts the changes that a row asks for.
func (r *resolvedPatch) count(a askedArc, there bool) {
	switch {
	case a.again:
		r.stats.ParallelEdges++
	case a.row.remove && !there:
		r.noteMissing(a.src, a.dst, a.row.source)
	case a.row.remove: // countRemoved counts it
	case there:
		r.stats.Present++
	default:
		r.stats.Edges++
	}
}

// countRemoved counts the removed edges, once there are so many arcs, and returns the error of a row that asked for
// what cannot be.
func (r *resolvedPatch) countRemoved(after int64) error {
	before := r.tx.Shape().Arcs
	if !r.tx.cat.Directed { // each edge is two
		before, after = before/2, after/2
	}
	r.stats.RemovedEdges = before + r.stats.Edges - after
	return r.wrong
}
