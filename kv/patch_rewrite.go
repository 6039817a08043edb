package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/matrix"
)

// A patchRewrite makes the changes of a Patch by writing the graph again, and every column and matrix that changes.
type patchRewrite struct {
	*resolvedPatch
	w       *rewriter
	b       *Bulk
	indexes []ColumnIndex
	rows    map[string]*spill.Sorter // of matrices, by NodeID
}

// rewrite makes the changes in a Bulk, which it commits.
func (r *resolvedPatch) rewrite(ctx context.Context, b *Bulk) (err error) {
	r.stats.Rewritten = true
	w := &patchRewrite{
		resolvedPatch: r, w: &rewriter{tx: r.tx, bulk: b, progress: r.opt.Progress}, b: b,
		rows: map[string]*spill.Sorter{},
	}
	defer func() { err = errors.Join(err, w.closeAll()) }()
	for _, step := range []func(context.Context) error{w.graph, w.columns, w.takeRows, w.matrices} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return b.Commit(func(tx *Tx) error {
		for _, x := range w.indexes {
			if err := x.Mark(tx); err != nil {
				return err
			}
		}
		return r.end(ctx, tx)
	})
}

func (w *patchRewrite) closeAll() (err error) {
	for _, rows := range w.rows {
		err = errors.Join(err, rows.Close())
	}
	for _, x := range w.indexes {
		err = errors.Join(err, x.Close())
	}
	return err
}

// graph writes the lists and the dictionary.
func (w *patchRewrite) graph(ctx context.Context) error {
	cat, draft := w.tx.cat, w.b.draft
	g, err := w.b.newGeneration()
	if err != nil {
		return err
	}
	draft.Graph, draft.Nodes, draft.EdgeDeltas = g, cat.Nodes+int(w.stats.Nodes), 0
	draft.LoadedNodes = draft.Nodes
	if len(w.removals) > 0 {
		all := NewNodeSet(cat.Nodes)
		copy(all, w.b.removed)
		for _, v := range w.removals {
			all.Add(v)
		}
		w.b.removed = all
		draft.Removed += len(w.removals)
	}
	draft.Unnamed = draft.Removed
	w.b.touched.addAll(edgesTouched)
	if err := w.adjacency(ctx); err != nil {
		return err
	}
	return w.w.dictionary(ctx, w.w.oldNumbers(), func() (func(position int) (string, error), func()) {
		old := w.w.oldIDs()
		next, stop := iter.Pull2(w.added.Records(ctx))
		return func(position int) (string, error) {
			if position < cat.Nodes {
				return old(position)
			}
			rec, err, _ := next()
			if err != nil {
				return "", err
			}
			row, err := parseRow(rec.Value)
			return row.ID, err
		}, stop
	})
}

// adjacency writes the lists with their changes, and counts them.
func (w *patchRewrite) adjacency(ctx context.Context) error {
	old, err := w.w.oldLists()
	if err != nil {
		return err
	}
	var without NodeSet
	if len(w.removals) > 0 {
		without = w.b.removed
	}
	if err := w.w.lists(ctx, old, w.edits(ctx), without); err != nil {
		return err
	}
	before, after := w.tx.cat.Edges, w.b.draft.Edges
	if w.tx.cat.Directed {
		before, after = w.tx.cat.Arcs, w.b.draft.Arcs
	}
	w.stats.ParallelEdges = w.parallel()
	w.stats.RemovedEdges = before + w.stats.Edges - after
	return w.bad.err()
}

// edits yields the changes of edges, by both ends.
func (r *resolvedPatch) edits(ctx context.Context) iter.Seq2[edit, error] {
	return func(yield func(edit, error) bool) {
		for c, err := range r.changes(ctx) {
			apply := func(a codec.Arc) (_ codec.Arc, err error) {
				weight := &a.Out
				if c.back && r.tx.cat.Directed {
					weight = &a.In
				}
				if !c.back {
					r.count(c, *weight)
				}
				if *weight, err = r.after(c, *weight); !r.tx.cat.Directed {
					a.In = a.Out
				}
				return a, err
			}
			if !yield(edit{c.node, c.neighbor, apply}, err) || err != nil {
				return
			}
		}
	}
}

// columns writes the columns that change.
func (w *patchRewrite) columns(ctx context.Context) error {
	if w.opt.Labels && w.hasRows() {
		if err := w.column(ctx, Column{Name: LabelColumn, Kind: KindClass}, func(row *patchNode) Value { return StringValue(row.Label) }); err != nil {
			return err
		}
	}
	for i, column := range w.opt.Properties {
		if old, there := w.tx.Column(column.Name); there {
			column.Kind = old.Kind
		}
		value := func(row *patchNode) Value {
			if i < len(row.Values) {
				return row.Values[i]
			}
			return Value{}
		}
		if err := w.column(ctx, column, value); err != nil {
			return err
		}
	}
	for _, column := range w.tx.Columns() {
		if _, written := w.b.columns[column.Name]; written {
			continue
		}
		has, err := w.hasValue(column.Name)
		if err == nil && has {
			err = w.column(ctx, column, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hasRows says that there is a row of a node.
func (w *patchRewrite) hasRows() bool { return w.stats.Nodes+w.stats.Known > 0 }

// hasValue reports whether a removed node has a value in a column.
func (w *patchRewrite) hasValue(column string) (bool, error) {
	r, err := w.tx.Reader(column)
	if err != nil {
		return false, err
	}
	for _, v := range w.removals {
		value, err := r.At(v)
		if err != nil || !value.IsNull() {
			return err == nil, err
		}
	}
	return false, nil
}

// column writes a column, and its index if it has one, with the values of the rows; nil for none.
func (w *patchRewrite) column(ctx context.Context, column Column, value func(row *patchNode) Value) error {
	old, _ := w.tx.Column(column.Name)
	out, err := w.b.Column(column.Name, column.Kind)
	if err != nil {
		return err
	}
	var entries ColumnIndex
	if old.Indexed {
		if w.s.opt.OnRewrite == nil {
			return fmt.Errorf("column %s: %w", column.Name, ErrIndexed)
		}
		if entries, err = w.s.opt.OnRewrite(w.b, column.Name); err != nil {
			return err
		}
		w.indexes = append(w.indexes, entries)
	}
	put := func(v NodeID, x Value) error {
		x, err := fit(column.Kind, x)
		if err != nil {
			return fmt.Errorf("column %s: %w", column.Name, err)
		}
		if err := out.Put(v, x); err != nil {
			return err
		}
		if entries == nil || w.b.removed.Has(v) {
			return nil
		}
		return entries.Add(v, x)
	}
	if err := w.w.column(ctx, column, w.values(ctx, value), put); err != nil || entries == nil {
		return err
	}
	return entries.Finish()
}

// values yields the values that the rows give, ascending by node; none of nil.
func (w *patchRewrite) values(ctx context.Context, value func(row *patchNode) Value) iter.Seq2[nodeValue, error] {
	return func(yield func(nodeValue, error) bool) {
		if value == nil {
			return
		}
		v := NodeID(w.tx.cat.Nodes)
		for _, sorted := range []*spill.Sorter{w.known, w.added} {
			for rec, err := range sorted.Records(ctx) {
				var row patchNode
				if err == nil {
					row, err = parseRow(rec.Value)
				}
				if err != nil {
					yield(nodeValue{}, err)
					return
				}
				x := nodeValue{v, value(&row)}
				if sorted == w.known {
					x.node = NodeID(binary.BigEndian.Uint64(rec.Key))
				} else {
					v++
				}
				if !yield(x, nil) {
					return
				}
			}
		}
	}
}

// takeRows asks for rows of matrices. Who writes them sees the nodes and edges as they will be.
func (w *patchRewrite) takeRows(ctx context.Context) error {
	if w.opt.Rows == nil {
		return nil
	}
	if err := w.b.show(); err != nil {
		return err
	}
	tx := w.s.Begin()
	defer tx.Close()
	if tx.err != nil {
		return tx.err
	}
	tx.cat = w.b.draft.clone()
	tx.structures = &structures{tx.newGraph(), tx.newDict()}
	if tx.cat.Removed > 0 {
		tx.removed.Store(&removedSet{tx.cat.Removed, w.b.removed})
	}
	return w.opt.Rows(ctx, tx, func(name string, v NodeID, row []float32) error {
		entry, err := w.tx.matrixEntry(name)
		if err != nil {
			return err
		}
		if err := tx.checkNode(v); err != nil {
			return err
		}
		if len(row) != len(entry.Columns) {
			return fmt.Errorf("matrix %s, node number %d: %w: a row of %d, want %d", name, v, ErrShape, len(row), len(entry.Columns))
		}
		if w.rows[name] == nil {
			w.rows[name] = w.b.Sorter()
		}
		w.buf = matrix.AppendRow(w.buf[:0], row)
		return w.rows[name].AddUint64(uint64(v), w.buf)
	})
}

// matrices writes the matrices that change.
func (w *patchRewrite) matrices(ctx context.Context) error {
	for _, name := range w.tx.Matrices() {
		changes := iter.Seq2[spill.Record, error](none[spill.Record])
		if rows := w.rows[name]; rows != nil {
			changes = rows.Records(ctx)
		} else if len(w.removals) == 0 {
			continue
		}
		if err := w.w.matrix(ctx, name, changes); err != nil {
			return err
		}
	}
	return nil
}
