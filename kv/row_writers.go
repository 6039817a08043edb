package kv

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/column"
	"github.com/graphcleaner/graphcleaner/kv/internal/matrix"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A rowOrder sees to it that the rows that a writer is given ascend, or sorts them, and that each block is written.
type rowOrder struct {
	b      *Bulk
	what   string // is written
	rows   uint32
	height uint32        // rows of a block
	first  NodeID        // of the block that is being filled
	flush  func() error  // writes that block, and goes to the next
	next   NodeID        // the least node that is still in order
	sorter *spill.Sorter // of all rows; nil if they ascend
	buf    []byte        // scratch
}

// wants reports whether the row of a node is written. Removed nodes have none.
func (o *rowOrder) wants(v NodeID) (bool, error) {
	if err := o.b.check(); err != nil {
		return false, err
	}
	if uint32(v) >= o.rows {
		return false, fmt.Errorf("%s: node number %d of %d: %w", o.what, v, o.rows, ErrShape)
	}
	return !o.b.removed.Has(v), nil
}

// ascend goes to the block of the next row in order.
func (o *rowOrder) ascend(v NodeID) error {
	if v < o.next {
		return fmt.Errorf("%s: node number %d after %d: %w: the rows do not ascend, and the writer does not sort them",
			o.what, v, o.next-1, ErrInvalidValue)
	}
	o.next = v + 1
	for uint32(v-o.first) >= o.height {
		if err := o.flush(); err != nil {
			return err
		}
	}
	return nil
}

// end hands the rows of the sorter, if there is one, to set, and writes the blocks that are left.
func (o *rowOrder) end(set func(v NodeID, body []byte) error) error {
	if o.sorter != nil {
		if err := o.sorted(set); err != nil {
			return err
		}
	}
	for uint32(o.first) < o.rows {
		if err := o.flush(); err != nil {
			return err
		}
	}
	return nil
}

// sorted hands the rows of the sorter to set, ascending by node, each with its encoding, borrowed. A node given twice
// is an ErrDuplicateRow.
func (o *rowOrder) sorted(set func(v NodeID, body []byte) error) error {
	last := int64(-1)
	for r, err := range o.sorter.Records(context.Background()) {
		if err != nil {
			return err
		}
		v := NodeID(binary.BigEndian.Uint64(r.Key))
		if int64(v) == last {
			return fmt.Errorf("%w: node number %d", ErrDuplicateRow, v)
		}
		last = int64(v)
		if err := set(v, r.Value); err != nil {
			return err
		}
	}
	return nil
}

// close removes what was spilled.
func (o *rowOrder) close() error {
	if o.sorter == nil {
		return nil
	}
	return o.sorter.Close()
}

// longString is the length from which a string does not go into a block but beside it, as a delta, so that a block of
// long texts does not have to be read for each of them.
const longString = 4 << 10

// A ColumnWriter writes a whole column in a Bulk. It takes nodes in ascending order, or after Sort in any order. A node
// without a value is null.
type ColumnWriter struct {
	rowOrder
	entry column.Entry
	block []Value
}

func newColumnWriter(b *Bulk, name string, kind Kind, g record.Generation) *ColumnWriter {
	entry := column.Entry{Generation: g, Kind: kind, Rows: uint32(b.draft.Nodes)}
	w := &ColumnWriter{
		rowOrder: rowOrder{b: b, what: "column " + name, rows: entry.Rows, height: codec.ColumnRows},
		entry:    entry, block: make([]Value, 0, min(codec.ColumnRows, b.draft.Nodes)),
	}
	w.flush = w.flushBlock
	w.startBlock(0)
	b.touched.addAll(columnTouched(name))
	return w
}

// Put sets the value of a node. A class column takes class names, new ones are added to Classes by Commit.
func (w *ColumnWriter) Put(v NodeID, value Value) error { return w.b.fail(w.putValue(v, value)) }

func (w *ColumnWriter) putValue(v NodeID, value Value) error {
	value, err := fit(w.entry.Kind, value)
	if err != nil {
		return fmt.Errorf("%s: %w", w.what, err)
	}
	return w.put(v, w.b.draft.toCell(w.entry.Kind, value))
}

// PutFloats sets the values of consecutive nodes of a float or single column; NaN is null.
func (w *ColumnWriter) PutFloats(first NodeID, values []float32) error {
	return w.b.fail(w.putFloats(first, values))
}

func (w *ColumnWriter) putFloats(first NodeID, values []float32) error {
	if w.entry.Kind != KindFloat && w.entry.Kind != KindSingle {
		return fmt.Errorf("%s: %w: floats for a %s column", w.what, ErrInvalidValue, w.entry.Kind)
	}
	for i, x := range values {
		if err := w.put(first+NodeID(i), FloatValue(float64(x))); err != nil {
			return err
		}
	}
	return nil
}

// PutClasses sets the values of consecutive nodes of a class column, by number in the Classes of Bulk.Tx.
func (w *ColumnWriter) PutClasses(first NodeID, values []Class) error {
	return w.b.fail(w.putClasses(first, values))
}

func (w *ColumnWriter) putClasses(first NodeID, values []Class) error {
	if w.entry.Kind != KindClass {
		return fmt.Errorf("%s: %w: classes for a %s column", w.what, ErrInvalidValue, w.entry.Kind)
	}
	for i, class := range values {
		cell := Value{}
		if class != NoClass {
			if class < 0 || int(class) >= len(w.b.draft.Classes) {
				return fmt.Errorf("%s: %w: class number %d of %d", w.what, ErrInvalidValue, class, len(w.b.draft.Classes))
			}
			cell = IntValue(int64(class))
		}
		if err := w.put(first+NodeID(i), cell); err != nil {
			return err
		}
	}
	return nil
}

func (w *ColumnWriter) put(v NodeID, cell Value) error {
	if wants, err := w.wants(v); !wants || err != nil || cell.IsNull() {
		return err
	}
	if w.sorter != nil {
		w.buf = cell.Append(w.buf[:0])
		return w.sorter.AddUint64(uint64(v), w.buf)
	}
	return w.set(v, cell)
}

// set takes the next row in order.
func (w *ColumnWriter) set(v NodeID, cell Value) error {
	if err := w.ascend(v); err != nil {
		return err
	}
	if len(cell.Str()) > longString {
		w.entry.Deltas = true
		w.buf = cell.Append(w.buf[:0])
		return w.b.batch.Put(column.DeltaKey(w.entry.Generation, v), w.buf)
	}
	w.block[v-w.first] = cell
	return nil
}

func (w *ColumnWriter) startBlock(first NodeID) {
	w.first, w.block = first, w.block[:0]
	if uint32(first) < w.entry.Rows {
		w.block = w.block[:min(codec.ColumnRows, w.entry.Rows-uint32(first))]
		clear(w.block)
	}
}

func (w *ColumnWriter) flushBlock() error {
	w.b.block = codec.AppendColumn(w.b.block[:0], w.entry.Kind, w.block)
	_, err := record.PutParts(w.b.batch.Put, column.Key(w.entry.Generation, uint32(w.first)/codec.ColumnRows), w.b.block)
	w.startBlock(w.first + codec.ColumnRows)
	return err
}

// Sort makes the writer take the nodes in any order: it sorts them, on disk if memory does not hold them. If a node is
// given two values, Commit returns ErrDuplicateRow. Call Sort before the first Put.
func (w *ColumnWriter) Sort() { w.sorter = w.b.Sorter() }

// finish writes what is buffered and returns the column's entry.
func (w *ColumnWriter) finish() (column.Entry, error) {
	err := w.end(func(v NodeID, body []byte) error {
		cell, err := codec.ParseValue(body)
		if err != nil {
			return err
		}
		return w.set(v, cell)
	})
	return w.entry, err
}

// A MatrixWriter writes a whole matrix in a Bulk. It takes rows in ascending order, or after Sort in any order. A row
// left out is NaN.
type MatrixWriter struct {
	rowOrder
	entry    matrix.Entry
	encoding MatrixEncoding
	block    codec.Window
	present  []bool    // rows of block that were put
	fills    []float32 // of the rows of block, if these share a value; else nil
	row      []float32 // scratch
}

func newMatrixWriter(b *Bulk, name string, columns []string, e MatrixEncoding, g record.Generation) *MatrixWriter {
	width := len(columns)
	entry := matrix.Entry{
		Generation: g,
		Columns:    slices.Clone(columns),
		Rows:       uint32(b.draft.Nodes),
		BlockRows:  uint32(e.BlockRows(width)),
		Half:       e.Half,
		Kept:       uint32(e.Kept),
	}
	rows := min(int(entry.BlockRows), max(b.draft.Nodes, 1))
	w := &MatrixWriter{
		rowOrder: rowOrder{b: b, what: "matrix " + name, rows: entry.Rows, height: entry.BlockRows},
		entry:    entry, encoding: e,
		block: codec.Window{Values: make([]float32, rows*width), Stride: width},
		row:   make([]float32, width),
	}
	if e.Shares(width) {
		w.fills = make([]float32, rows)
	}
	w.flush = w.flushBlock
	w.startBlock(0)
	b.touched.addAll(matrixTouched(name))
	return w
}

// Put sets the row of a node, whose length must be the width; cells are rounded as the encoding says. Put returns
// ErrInvalidValue for a row that the encoding cannot keep, as SetRow does. The caller may reuse row.
func (w *MatrixWriter) Put(v NodeID, row []float32) error { return w.b.fail(w.put(v, row)) }

func (w *MatrixWriter) put(v NodeID, row []float32) error {
	wants, err := w.wants(v)
	if err == nil && len(row) != len(w.entry.Columns) {
		err = fmt.Errorf("%s, node number %d: %w: a row of %d, want %d", w.what, v, ErrShape, len(row), len(w.entry.Columns))
	}
	if !wants || err != nil {
		return err
	}
	if w.sorter != nil {
		w.buf = matrix.AppendRow(w.buf[:0], row)
		return w.sorter.AddUint64(uint64(v), w.buf)
	}
	return w.set(v, row)
}

// set takes the next row in order.
func (w *MatrixWriter) set(v NodeID, row []float32) error {
	if err := w.ascend(v); err != nil {
		return err
	}
	i := int(v - w.first)
	to := w.block.Row(i, 0, w.block.Stride)
	copy(to, row)
	fill := float32(0)
	if w.fills != nil {
		var ok bool
		if fill, ok = w.encoding.Share(to); !ok {
			return fmt.Errorf("%s, node number %d: %w: more than %d cells differ from the others",
				w.what, v, ErrInvalidValue, w.encoding.Kept)
		}
		w.fills[i] = fill
	}
	w.encoding.Round(to, fill)
	w.present[i] = true
	return nil
}

func (w *MatrixWriter) startBlock(first NodeID) {
	w.first = first
	count := 0
	if uint32(first) < w.entry.Rows {
		count = int(min(w.entry.BlockRows, w.entry.Rows-uint32(first)))
	}
	w.present = slices.Grow(w.present[:0], count)[:count]
	clear(w.present)
	clear(w.fills)
}

func (w *MatrixWriter) flushBlock() error {
	block := uint32(w.first) / w.entry.BlockRows
	step := w.entry.TileWidth()
	fills := w.fills
	if fills != nil {
		fills = fills[:len(w.present)]
	}
	for tile := 0; tile*step < len(w.entry.Columns); tile++ {
		lo, hi := tile*step, min((tile+1)*step, len(w.entry.Columns))
		w.buf = w.encoding.AppendTile(w.buf[:0], w.block, w.present, fills, lo, hi)
		if err := w.b.batch.Put(matrix.Key(w.entry.Generation, uint32(tile), block), w.buf); err != nil {
			return err
		}
	}
	w.startBlock(w.first + NodeID(w.entry.BlockRows))
	return nil
}

// Sort makes the writer take the rows in any order: it sorts them, on disk if memory does not hold them. If a node is
// given two rows, Commit returns ErrDuplicateRow. Call Sort before the first Put.
func (w *MatrixWriter) Sort() { w.sorter = w.b.Sorter() }

// finish writes what is buffered and returns the matrix's entry.
func (w *MatrixWriter) finish() (matrix.Entry, error) {
	err := w.end(func(v NodeID, body []byte) error {
		if err := matrix.ReadRow(body, w.row); err != nil {
			return err
		}
		return w.set(v, w.row)
	})
	return w.entry, err
}
