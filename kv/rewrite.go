package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A rewriter writes the data of a snapshot again, under new generations of a Bulk, with the changes since folded in.
type rewriter struct {
	tx       *Tx
	bulk     *Bulk
	progress Progress

	// lose is called with each part that damage took, which is left out. If lose is nil, damage is an error.
	lose func(loss lsm.Loss, where, what, done string, args ...any)
}

// An ahead is a sequence of which the next element is known.
type ahead[T any] struct {
	now  T // the next, if there are more
	more bool
	next func() (T, error, bool)
	stop func()
}

// lookAhead must be followed by stop, also after an error. Nil is an empty sequence.
func lookAhead[T any](all iter.Seq2[T, error]) (*ahead[T], error) {
	a := &ahead[T]{stop: func() {}}
	if all == nil {
		return a, nil
	}
	a.next, a.stop = iter.Pull2(all)
	return a, a.advance()
}

func (a *ahead[T]) advance() (err error) {
	a.now, err, a.more = a.next()
	return err
}

// A property is a column or a matrix of a snapshot.
type property struct {
	where      string // such as "column label"
	generation record.Generation
	rows       uint32
	deltas     bool
	check      func(c *checker, ctx context.Context) error
	rewrite    func(w *rewriter, ctx context.Context) error
}

func (tx *Tx) properties() (list []property) {
	for _, column := range tx.Columns() {
		e, where := tx.cat.Columns[column.Name], "column "+column.Name
		list = append(list, property{
			where, e.Generation, e.Rows, e.Deltas,
			func(c *checker, ctx context.Context) error {
				return checkRows(ctx, c, where, tx.columnRows, column.Name)
			},
			func(w *rewriter, ctx context.Context) error { return w.column(ctx, column, nil, nil) },
		})
	}
	for _, name := range tx.Matrices() {
		e, where := tx.cat.Matrices[name], "matrix "+name
		list = append(list, property{
			where, e.Generation, e.Rows, e.Deltas,
			func(c *checker, ctx context.Context) error { return checkRows(ctx, c, where, tx.matrixRows, name) },
			func(w *rewriter, ctx context.Context) error { return w.matrix(ctx, name, nil) },
		})
	}
	return list
}

// A rowsOf reads the rows of a property in blocks. A row is lent until the next is read.
type rowsOf[R any] struct {
	nodes  int // that have rows
	height int // rows of a block
	load   func(r Range) error
	row    func(v NodeID) (R, error) // of the block that was loaded
	single func(v NodeID) (R, error) // without its block
	isNull func(row R) bool
}

func (tx *Tx) columnRows(name string) (rowsOf[Value], error) {
	r, err := tx.Reader(name)
	return rowsOf[Value]{
		tx.NumNodes(), BlockRows,
		func(block Range) error { _, err := r.Block(block.First); return err }, r.At,
		func(v NodeID) (Value, error) { return tx.stored(v, name) }, Value.IsNull,
	}, err
}

func (tx *Tx) matrixRows(name string) (rowsOf[[]float32], error) {
	m, err := tx.Matrix(name)
	if err != nil {
		return rowsOf[[]float32]{}, err
	}
	entry := tx.cat.Matrices[name]
	nodes, height, width := tx.NumNodes(), entry.BlockRows(), m.Width()
	var loaded Range
	values := make([]float32, min(height, nodes)*width)
	load := func(r Range) error {
		loaded = r
		return m.Read(r, 0, width, values[:r.Len()*width])
	}
	row := func(v NodeID) ([]float32, error) { return values[int(v-loaded.First)*width:][:width], nil }
	single := func(v NodeID) ([]float32, error) { return values[:width], load(Range{First: v, End: v + 1}) }
	return rowsOf[[]float32]{nodes, height, load, row, single, isUnwritten}, nil
}

// A changedRow is the new row of a node.
type changedRow[R any] struct {
	node NodeID
	row  R
}

// rewriteRows puts the row of every node: what was changed, ascending by the nodes, or what there was. What damage took
// is null, and one loss of its kind, of at most as many rows: some may have been null.
func rewriteRows[R any](
	ctx context.Context, w *rewriter, where, kind string, old rowsOf[R], changed iter.Seq2[changedRow[R], error],
	put func(v NodeID, row R) error,
) error {
	changes, err := lookAhead(changed)
	defer changes.stop()
	if err != nil {
		return err
	}
	var damage error // of the block: then its rows are read one by one
	var first error  // of a row that is lost
	lost := lsm.Loss{Kind: kind, AtMost: true}
	nodes := w.bulk.draft.Nodes
	for v := range NodeID(nodes) {
		isOld := int(v) < old.nodes
		if int(v)%old.height == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			w.progress(where, int64(v), int64(nodes))
			if isOld {
				damage = old.load(Range{First: v, End: NodeID(min(int(v)+old.height, old.nodes))})
			}
		}
		var row R
		var err error
		isChanged := changes.more && changes.now.node == v
		switch {
		case isChanged:
			row = changes.now.row
		case isOld && damage != nil:
			row, err = old.single(v)
		case isOld:
			row, err = old.row(v)
		}
		if w.lose != nil && errors.Is(err, ErrCorrupt) {
			lost.Count++
			first = cmp.Or(first, err)
			continue
		}
		if err == nil {
			err = put(v, row)
		}
		if err == nil && isChanged {
			err = changes.advance()
		}
		if err != nil {
			return err
		}
	}
	if changes.more {
		return fmt.Errorf("%s: node number %d: %w", where, changes.now.node, ErrDuplicateRow)
	}
	if lost.Count > 0 {
		w.lose(lost, where, first.Error(), "what cannot be read is null or NaN")
	}
	return nil
}

// column writes a column again, which need not be there, and its index, if that is not nil.
func (w *rewriter) column(
	ctx context.Context, column Column, changed iter.Seq2[changedRow[Value], error], index ColumnIndex,
) error {
	out, err := w.bulk.Column(column.Name, column.Kind)
	if err != nil {
		return err
	}
	where, kind := "column "+column.Name, "value of "+column.Name
	if column.Name == LabelColumn {
		kind = "label"
	}
	old, err := w.tx.columnRows(column.Name)
	if errors.Is(err, ErrNoColumn) {
		old.nodes = 0
	} else if err != nil {
		return err
	}
	put := out.Put
	if index != nil {
		put = func(v NodeID, value Value) error {
			err := out.Put(v, value)
			if err == nil && !w.bulk.removed.Has(v) {
				if value, err = fit(column.Kind, value); err == nil {
					err = index.Add(v, value)
				}
			}
			return err
		}
	}
	err = rewriteRows(ctx, w, where, kind, old, changed, put)
	if err == nil && index != nil {
		err = index.Finish()
	}
	return err
}

// matrix writes a matrix again.
func (w *rewriter) matrix(ctx context.Context, name string, changed iter.Seq2[changedRow[[]float32], error]) error {
	where, entry := "matrix "+name, w.tx.cat.Matrices[name]
	old, err := w.tx.matrixRows(name)
	if err != nil {
		return err
	}
	out, err := w.bulk.Matrix(name, entry.Columns)
	if err != nil {
		return err
	}
	put := func(v NodeID, row []float32) error {
		if isUnwritten(row) {
			return nil
		}
		return out.Put(v, row)
	}
	return rewriteRows(ctx, w, where, "row of "+where, old, changed, put)
}

// isUnwritten reports whether a row is all NaN, as a row that was never written is read.
func isUnwritten(row []float32) bool {
	return !slices.ContainsFunc(row, func(x float32) bool { return x == x }) // which is false of NaN
}
