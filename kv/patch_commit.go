package kv

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/matrix"
)

// update makes the edits in a transaction, by what any user of one may do.
func (r *resolvedPatch) update(ctx context.Context, tx *Tx) error {
	arcs := tx.NumArcs()
	for _, column := range r.opt.Properties {
		if _, there := tx.Column(column.Name); there {
			continue
		}
		if err := tx.AddColumn(column.Name, column.Kind); err != nil {
			return err
		}
	}
	for row, err := range r.rows(ctx) {
		if err == nil {
			err = r.updateNode(tx, &row)
		}
		if err != nil {
			return err
		}
	}
	for e, err := range r.edits(ctx) {
		if err == nil && e.node < e.neighbor {
			err = tx.editEdge(e.node, e.neighbor, r.leaveToRemoval(e))
		}
		if err != nil {
			return err
		}
	}
	for _, v := range r.removals {
		neighbors, err := r.tx.neighborsOf(v) // not those of tx, which sorts what it wrote for each
		if err == nil {
			err = errors.Join(ctx.Err(), tx.removeNode(v, neighbors))
		}
		if err != nil {
			return err
		}
	}
	if err := r.countRemoved(arcs, tx.NumArcs()); err != nil {
		return err
	}
	if r.opt.Rows != nil {
		if err := r.opt.Rows(ctx, tx, tx.SetRow); err != nil {
			return err
		}
	}
	return r.end(ctx, tx)
}

// updateNode adds the node of a row if it is not there, and gives it the label and the values of the row.
func (r *resolvedPatch) updateNode(tx *Tx, row *nodeRow) error {
	if r.isAdded(row.v) {
		if _, err := tx.AddNode(Node{ID: row.ID}); err != nil {
			return err
		}
	}
	for _, column := range append([]Column{{Name: LabelColumn}}, r.opt.Properties...) {
		if value := r.given(column.Name); value != nil {
			if err := tx.SetValue(row.v, column.Name, value(row)); err != nil {
				return fmt.Errorf("node %q: %w", row.ID, err)
			}
		}
	}
	return nil
}

// leaveToRemoval applies an edit, and makes nothing of it if an end of the edge is to be removed.
func (r *resolvedPatch) leaveToRemoval(e edit) func(codec.Arc) (codec.Arc, error) {
	return func(before codec.Arc) (codec.Arc, error) {
		after, err := e.apply(before)
		if r.removed.Has(e.node) || r.removed.Has(e.neighbor) {
			after = before
		}
		return after, err
	}
}

// countRemoved counts repeated rows and removed edges, once there are so many arcs. It returns the error of a row that
// asked for what cannot be.
func (r *resolvedPatch) countRemoved(before, after int64) error {
	s := &r.stats
	s.ParallelEdges = int64(r.edgeRows) - s.SelfLoops - s.Edges - s.Present - s.RemovedEdges
	if !r.tx.cat.Directed { // each edge is two
		before, after = before/2, after/2
	}
	s.RemovedEdges = before + s.Edges - after
	return r.wrong.err
}

// end is the last step in the transaction that makes the edits visible.
func (r *resolvedPatch) end(ctx context.Context, tx *Tx) error {
	if r.opt.Finish != nil {
		if err := r.opt.Finish(tx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// A patchRewrite makes the edits by writing the graph again, and every column and matrix that changes.
type patchRewrite struct {
	*resolvedPatch
	w       *rewriter
	b       *Bulk
	indexes []ColumnIndex
	matrix  map[string]*spill.Sorter // rows of matrices, by NodeID
}

// rewrite makes the edits in a Bulk, which it commits.
func (r *resolvedPatch) rewrite(ctx context.Context, b *Bulk) (err error) {
	r.stats.Rewritten = true
	w := &patchRewrite{
		resolvedPatch: r, w: &rewriter{tx: r.tx, bulk: b, progress: r.opt.Progress}, b: b, matrix: map[string]*spill.Sorter{},
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
	for _, rows := range w.matrix {
		err = errors.Join(err, rows.Close())
	}
	for _, x := range w.indexes {
		err = errors.Join(err, x.Close())
	}
	return err
}

// graph writes the lists and the dictionary.
func (w *patchRewrite) graph(ctx context.Context) error {
	w.b.draft.Nodes += int(w.stats.Nodes)
	var without NodeSet
	if len(w.removals) > 0 {
		without = w.removed
		for v := range w.b.removed.All() {
			without.Add(v)
		}
		w.b.removed = without
		w.b.draft.Removed += len(w.removals)
	}
	w.b.touched.addAll(edgesTouched)
	from, err := w.w.source()
	if err != nil {
		return err
	}
	old := from.ids
	from.ids = func(yield func(string, error) bool) {
		for id, err := range old {
			if !yield(id, err) {
				return
			}
		}
		for row, err := range w.rows(ctx) {
			if (err != nil || w.isAdded(row.v)) && !yield(row.ID, err) {
				return
			}
		}
	}
	if err := w.w.graph(ctx, from, w.edits(ctx), without); err != nil {
		return err
	}
	return w.countRemoved(w.tx.NumArcs(), w.b.draft.numArcs())
}

// columns writes the columns that change.
func (w *patchRewrite) columns(ctx context.Context) error {
	columns := w.tx.Columns()
	for _, column := range w.opt.Properties {
		if _, there := w.tx.Column(column.Name); !there {
			columns = append(columns, column)
		}
	}
	for _, column := range columns {
		value := w.given(column.Name)
		changes := value != nil
		if !changes {
			var err error
			if changes, err = w.takesValue(column.Name); err != nil {
				return err
			}
		}
		if !changes {
			continue
		}
		if err := w.column(ctx, column, value); err != nil {
			return err
		}
	}
	return nil
}

// takesValue reports whether a removed node has a value in a column.
func (w *patchRewrite) takesValue(column string) (bool, error) {
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
func (w *patchRewrite) column(ctx context.Context, column Column, value func(row *nodeRow) Value) error {
	out, err := w.b.Column(column.Name, column.Kind)
	if err != nil {
		return err
	}
	var entries ColumnIndex
	if column.Indexed {
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
		if err := out.Put(v, x); err != nil || entries == nil || w.b.removed.Has(v) {
			return err
		}
		return entries.Add(v, x)
	}
	changes := iter.Seq2[nodeValue, error](none[nodeValue])
	if value != nil {
		changes = func(yield func(nodeValue, error) bool) {
			for row, err := range w.rows(ctx) {
				if !yield(nodeValue{row.v, value(&row)}, err) {
					return
				}
			}
		}
	}
	if err := w.w.column(ctx, column, changes, put); err != nil || entries == nil {
		return err
	}
	return entries.Finish()
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
			return fmt.Errorf("matrix %s, node number %d: %w: a row of %d, want %d", name, v, ErrShape, len(row),
				len(entry.Columns))
		}
		if w.matrix[name] == nil {
			w.matrix[name] = w.b.Sorter()
		}
		w.buf = matrix.AppendRow(w.buf[:0], row)
		return w.matrix[name].AddUint64(uint64(v), w.buf)
	})
}

// matrices writes the matrices that change.
func (w *patchRewrite) matrices(ctx context.Context) error {
	for _, name := range w.tx.Matrices() {
		changes := iter.Seq2[spill.Record, error](none[spill.Record])
		if rows := w.matrix[name]; rows != nil {
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
