package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/matrix"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A rewriter writes what a snapshot has again, under new generations of a Bulk, with the changes since folded in.
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

// A stretch is consecutive nodes, or places of nodes, that the same damage took. It is one report.
type stretch struct {
	Range
	damage string
	tell   func(s *stretch)
}

// add adds a node that damage took, and reports the nodes before it if it does not follow them. It returns any other
// error, and without a stretch every error.
func (s *stretch) add(v NodeID, err error) error {
	if s == nil || !errors.Is(err, ErrCorrupt) {
		return err
	}
	if v != s.End || err.Error() != s.damage {
		s.flush()
		s.Range, s.damage = Range{First: v, End: v}, err.Error()
	}
	s.End = v + 1
	return nil
}

// flush reports the nodes that were added, if there are any.
func (s *stretch) flush() {
	if s != nil && s.Len() > 0 {
		s.tell(s)
		s.Range = Range{}
	}
}

// lost is for values of a kind, some of which may have been null; nil if damage is an error.
func (w *rewriter) lost(kind, where, done string) *stretch {
	if w.lose == nil {
		return nil
	}
	return &stretch{tell: func(s *stretch) {
		loss := lsm.Loss{Kind: kind, Count: int64(s.Len()), AtMost: true}
		w.lose(loss, fmt.Sprintf("%s, node numbers %d to %d", where, s.First, s.End-1), s.damage, "%s", done)
	}}
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
		e := tx.cat.Columns[column.Name]
		list = append(list, property{
			"column " + column.Name, e.Generation, e.Rows, e.Deltas,
			func(c *checker, ctx context.Context) error { return c.column(ctx, column.Name) },
			func(w *rewriter, ctx context.Context) error {
				return w.column(ctx, column, nil, nil)
			},
		})
	}
	for _, name := range tx.Matrices() {
		e := tx.cat.Matrices[name]
		list = append(list, property{
			"matrix " + name, e.Generation, e.Rows, e.Deltas,
			func(c *checker, ctx context.Context) error { return c.matrix(ctx, name) },
			func(w *rewriter, ctx context.Context) error { return w.matrix(ctx, name, nil) },
		})
	}
	return list
}

// markIndexes marks the columns of a snapshot in the catalogue that has them written again: their values are the same,
// and so are the entries of the indexes.
func markIndexes(columns []Column) func(tx *Tx) error {
	return func(tx *Tx) error {
		for _, column := range columns {
			if err := tx.SetIndexed(column.Name, column.Indexed); err != nil {
				return err
			}
		}
		return nil
	}
}

// A nodeValue is a value that a change gives to a node.
type nodeValue struct {
	node  NodeID
	value Value
}

// column writes a column again, which need not be there, and its index, if that is not nil. Changes of values,
// ascending by their nodes, take the place of values; nil are none.
func (w *rewriter) column(
	ctx context.Context, column Column, changed iter.Seq2[nodeValue, error], index ColumnIndex,
) error {
	out, err := w.bulk.Column(column.Name, column.Kind)
	if err != nil {
		return err
	}
	where, kind := "column "+column.Name, "value of "+column.Name
	if column.Name == LabelColumn {
		kind = "label"
	}
	// A computed property with the name of a stored column would take its place here.
	r, err := w.tx.Reader(column.Name)
	if err != nil && !errors.Is(err, ErrNoColumn) {
		return err
	}
	lost := w.lost(kind, where, "set to null")
	changes, err := lookAhead(changed)
	defer changes.stop()
	if err != nil {
		return err
	}
	var damage error // of the block: then its values are read one by one
	for v := range NodeID(w.bulk.draft.Nodes) {
		old := r != nil && int(v) < w.tx.NumNodes()
		if v%codec.ColumnRows == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			w.progress(where, int64(v), int64(w.bulk.draft.Nodes))
			if old && lost != nil {
				_, damage = r.Block(v)
			}
		}
		var value Value
		var err error
		switch {
		case changes.more && changes.now.node == v:
			value = changes.now.value
			err = changes.advance()
		case old:
			if damage != nil {
				value, err = w.tx.stored(v, column.Name)
			} else {
				value, err = r.At(v)
			}
			if err != nil {
				if err = lost.add(v, err); err == nil {
					continue
				}
			}
		}
		if err == nil {
			err = out.Put(v, value)
		}
		if err == nil && index != nil && !w.bulk.removed.Has(v) {
			if value, err = fit(column.Kind, value); err == nil {
				err = index.Add(v, value)
			}
		}
		if err != nil {
			return err
		}
	}
	lost.flush()
	if index != nil {
		return index.Finish()
	}
	return nil
}

// matrix writes a matrix again. Changes of rows, by their nodes, take the place of rows; nil are none.
func (w *rewriter) matrix(ctx context.Context, name string, changed *spill.Sorter) error {
	where, entry := "matrix "+name, w.tx.cat.Matrices[name]
	height := int(entry.BlockRows)
	if height == 0 {
		return record.Corrupt(record.Prefix(record.KindMatrix, entry.Generation), "its blocks have no rows")
	}
	m, err := w.tx.Matrix(name)
	if err != nil {
		return err
	}
	out, err := w.bulk.Matrix(name, m.Columns(), m.Encoding())
	if err != nil {
		return err
	}
	lost := w.lost("row of "+where, where, "set to NaN")
	var rows iter.Seq2[spill.Record, error]
	if changed != nil {
		rows = changed.Records(ctx)
	}
	changes, err := lookAhead(rows)
	defer changes.stop()
	if err != nil {
		return err
	}
	nodes, width := w.bulk.draft.Nodes, m.Width()
	values := make([]float32, min(height, nodes)*width)
	for first := 0; first < nodes; first += height {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.progress(where, int64(first), int64(nodes))
		// of those that were there
		r := Range{First: NodeID(first), End: NodeID(max(first, min(first+height, w.tx.NumNodes())))}
		block := codec.Window{Values: values[:min(height, nodes-first)*width], Stride: width}
		codec.FillWith(block.Values[r.Len()*width:], float32(math.NaN()))
		if r.Len() > 0 {
			err = m.Read(r, 0, width, block.Values[:r.Len()*width])
		}
		if err != nil && lost != nil {
			err = m.readEach(r, block, lost)
		}
		for err == nil && changes.more {
			i := int(binary.BigEndian.Uint64(changes.now.Key)) - first
			if i >= min(height, nodes-first) {
				break
			}
			if err = matrix.ReadRow(changes.now.Value, block.Row(i, 0, width)); err == nil {
				err = changes.advance()
			}
		}
		if err != nil {
			return err
		}
		for i := range min(height, nodes-first) {
			if row := block.Row(i, 0, width); !isUnwritten(row) {
				if err := out.Put(NodeID(first+i), row); err != nil {
					return err
				}
			}
		}
	}
	lost.flush()
	return nil
}

// readEach reads the rows of a damaged block one by one. Those that are lost are NaN.
func (m *Matrix) readEach(r Range, dst codec.Window, lost *stretch) error {
	for v := r.First; v < r.End; v++ {
		row := dst.Row(int(v-r.First), 0, m.Width())
		if err := m.Read(Range{First: v, End: v + 1}, 0, m.Width(), row); err != nil {
			if err := lost.add(v, err); err != nil {
				return err
			}
			codec.FillWith(row, float32(math.NaN()))
		}
	}
	return nil
}

// isUnwritten reports whether a row is all NaN, as a row that was never written is read.
func isUnwritten(row []float32) bool {
	for _, x := range row {
		if !math.IsNaN(float64(x)) {
			return false
		}
	}
	return true
}
