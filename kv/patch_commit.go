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

// update makes the changes in a transaction, by what any user of one may do.
func (r *resolvedPatch) update(ctx context.Context, tx *Tx) error {
	for n, err := range r.rows(ctx) {
		if err == nil && r.isAdded(n.node) {
			_, err = tx.AddNode(Node{ID: n.row.ID})
		}
		if err != nil {
			return err
		}
	}
	for _, column := range r.columns() {
		values := r.values(ctx, column.Name)
		if values == nil {
			continue
		}
		if _, there := tx.Column(column.Name); !there {
			if err := tx.AddColumn(column.Name, column.Kind); err != nil {
				return err
			}
		}
		for x, err := range values {
			if err == nil {
				err = tx.SetValue(x.node, column.Name, x.row)
			}
			if err != nil {
				return err
			}
		}
	}
	edits, err := lookAhead(r.edits(ctx, tx))
	defer edits.stop()
	for err == nil && edits.more {
		if e := edits.now; e.node < e.neighbor { // each pair comes from both ends
			err = tx.editEdge(e.node, e.neighbor, func(arc codec.Arc) (codec.Arc, error) { return applyPair(edits, arc) })
		} else {
			err = edits.advance()
		}
	}
	if err != nil {
		return err
	}
	for v := range r.removed.All() {
		neighbors, err := r.tx.neighborsOf(v) // not those of tx, which sorts what it wrote for each
		if err == nil {
			err = errors.Join(ctx.Err(), tx.removeNode(v, neighbors))
		}
		if err != nil {
			return err
		}
	}
	if err := r.countRemoved(tx.Shape().Arcs); err != nil {
		return err
	}
	if r.opt.Rows != nil {
		if err := r.opt.Rows(ctx, tx, tx.SetRow); err != nil {
			return err
		}
	}
	return r.finish(ctx, tx)
}

// finish is the last step in the transaction that makes the changes visible.
func (r *resolvedPatch) finish(ctx context.Context, tx *Tx) error {
	if r.opt.Finish != nil {
		if err := r.opt.Finish(tx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// rewrite makes the changes in the Bulk, which it commits: it writes the graph again, and every column and matrix that
// changes.
func (r *resolvedPatch) rewrite(ctx context.Context) (err error) {
	r.stats.Rewritten = true
	w := &rewriter{tx: r.tx, bulk: r.b, progress: r.opt.Progress}
	if err := r.rewriteGraph(ctx, w); err != nil {
		return err
	}
	var indexes []ColumnIndex
	defer func() {
		for _, x := range indexes {
			err = errors.Join(err, x.Close())
		}
	}()
	for _, column := range r.columns() {
		values := r.values(ctx, column.Name)
		if values == nil && r.stats.RemovedNodes == 0 {
			continue
		}
		var index ColumnIndex
		if column.Indexed {
			if r.s.opt.OnRewrite == nil {
				return fmt.Errorf("column %s: %w", column.Name, ErrIndexed)
			}
			if index, err = r.s.opt.OnRewrite(r.b, column.Name); err != nil {
				return err
			}
			indexes = append(indexes, index)
		}
		if err := w.column(ctx, column, values, index); err != nil {
			return err
		}
	}
	if err := r.rewriteMatrices(ctx, w); err != nil {
		return err
	}
	return r.b.Commit(func(tx *Tx) error {
		for _, x := range indexes {
			if err := x.Mark(tx); err != nil {
				return err
			}
		}
		return r.finish(ctx, tx)
	})
}

// rewriteGraph writes the lists and the dictionary.
func (r *resolvedPatch) rewriteGraph(ctx context.Context, w *rewriter) error {
	if r.Patch.edges.Len() > 0 || r.stats.RemovedNodes > 0 {
		r.b.touched.Of(edgesTouched).All = true
	}
	r.b.draft.Nodes += int(r.stats.Nodes)
	if r.stats.RemovedNodes > 0 {
		r.b.draft.Removed += int(r.stats.RemovedNodes)
		for v := range r.b.removed.All() {
			r.removed.Add(v)
		}
		r.b.removed = r.removed
	}
	from, err := w.source()
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
		for n, err := range r.rows(ctx) {
			if (err != nil || r.isAdded(n.node)) && !yield(n.row.ID, err) {
				return
			}
		}
	}
	edits := func(yield func(edit, error) bool) {
		tx, err := r.b.preview() // of the dictionary, which is written before the lists
		if err != nil {
			yield(edit{}, err)
			return
		}
		defer tx.Close()
		r.edits(ctx, tx)(yield)
	}
	if err := w.graph(ctx, from, edits); err != nil {
		return err
	}
	return r.countRemoved(r.b.draft.numArcs())
}

// rewriteMatrices writes the matrices that change. Who gives rows sees the nodes and edges as they will be.
func (r *resolvedPatch) rewriteMatrices(ctx context.Context, w *rewriter) (err error) {
	given := map[string]*spill.Sorter{} // rows, by NodeID
	defer func() {
		for _, rows := range given {
			err = errors.Join(err, rows.Close())
		}
	}()
	if r.opt.Rows != nil {
		tx, err := r.b.preview()
		if err != nil {
			return err
		}
		defer tx.Close()
		var body []byte
		err = r.opt.Rows(ctx, tx, func(name string, v NodeID, row []float32) error {
			if err := tx.checkRow(name, v, row); err != nil {
				return err
			}
			if given[name] == nil {
				given[name] = r.b.Sorter()
			}
			body = matrix.AppendRow(body[:0], row)
			return given[name].AddUint64(uint64(v), body)
		})
		if err != nil {
			return err
		}
	}
	for _, name := range r.tx.Matrices() {
		rows := given[name]
		if rows == nil && r.stats.RemovedNodes == 0 {
			continue
		}
		var changed iter.Seq2[changedRow[[]float32], error]
		if rows != nil {
			row := make([]float32, len(r.tx.cat.Matrices[name].Columns))
			changed = sortedRows(ctx, rows, func(body []byte) ([]float32, error) { return row, matrix.ReadRow(body, row) })
		}
		if err := w.matrix(ctx, name, changed); err != nil {
			return err
		}
	}
	return nil
}
