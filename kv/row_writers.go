package kv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/column"
	"github.com/graphcleaner/graphcleaner/kv/internal/matrix"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A rowWriter takes the rows of all nodes and writes them block by block. They ascend, or it sorts them.
type rowWriter[R any] struct {
	b      *Bulk
	what   string // is written
	rows   uint32
	height uint32        // rows of a block
	first  NodeID        // of the block that is being filled
	next   NodeID        // the least node that is still in order
	sorter *spill.Sorter // of all rows; nil if they ascend
	buf    []byte        // scratch

	set    func(v NodeID, row R) error  // puts a row into the block
	flush  func(rows int) error         // writes the block, of so many rows, and empties it
	encode func(b []byte, row R) []byte // for the sorter
	decode func(body []byte) (R, error)
}

// Sort makes the writer take the rows in any order: it sorts them, on disk if memory does not hold them. If a node is
// given two rows, Commit returns ErrDuplicateRow. Call Sort before the first Put.
func (w *rowWriter[R]) Sort() { w.sorter = w.b.Sorter() }

// put takes the row of a node. Removed nodes have none.
func (w *rowWriter[R]) put(v NodeID, row R) error {
	if err := w.b.check(); err != nil {
		return err
	}
	if uint32(v) >= w.rows {
		return fmt.Errorf("%s: node number %d of %d: %w", w.what, v, w.rows, ErrShape)
	}
	if w.b.removed.Has(v) {
		return nil
	}
	if w.sorter != nil {
		w.buf = w.encode(w.buf[:0], row)
		return w.sorter.AddUint64(uint64(v), w.buf)
	}
	return w.ascend(v, row)
}

// ascend takes the next row in order.
func (w *rowWriter[R]) ascend(v NodeID, row R) error {
	if v < w.next {
		return fmt.Errorf("%s: node number %d after %d: %w: the rows do not ascend, and the writer does not sort them",
			w.what, v, w.next-1, ErrInvalidValue)
	}
	w.next = v + 1
	if err := w.flushTo(uint32(v) / w.height * w.height); err != nil {
		return err
	}
	return w.set(v, row)
}

// flushTo writes the blocks before a row.
func (w *rowWriter[R]) flushTo(end uint32) error {
	for uint32(w.first) < end {
		if err := w.flush(int(min(w.height, w.rows-uint32(w.first)))); err != nil {
			return err
		}
		w.first += NodeID(w.height)
	}
	return nil
}

// finish takes the rows of the sorter, if there is one, ascending, and writes the blocks that are left. A node given
// twice is an ErrDuplicateRow.
func (w *rowWriter[R]) finish() error {
	if w.sorter != nil {
		last := int64(-1)
		for r, err := range w.sorter.Records(w.b.ctx) {
			if err != nil {
				return err
			}
			v := NodeID(binary.BigEndian.Uint64(r.Key))
			if int64(v) == last {
				return fmt.Errorf("%w: node number %d", ErrDuplicateRow, v)
			}
			last = int64(v)
			row, err := w.decode(r.Value)
			if err == nil {
				err = w.ascend(v, row)
			}
			if err != nil {
				return err
			}
		}
	}
	return w.flushTo(w.rows)
}

// close removes spilled files.
func (w *rowWriter[R]) close() error {
	if w.sorter == nil {
		return nil
	}
	return w.sorter.Close()
}

// longString is the length from which a string does not go into a block but beside it, as a delta, so that a block of
// long texts does not have to be read for each of them. Neither does a value that fits no block.
const longString = 4 << 10

// A ColumnWriter writes a whole column in a Bulk. It takes nodes in ascending order, or after Sort in any order. A node
// without a value is null.
type ColumnWriter struct {
	rowWriter[Value]
	entry column.Entry
	block []Value
}

func newColumnWriter(b *Bulk, name string, kind Kind, g record.Generation) *ColumnWriter {
	w := &ColumnWriter{
		entry: column.Entry{Generation: g, Kind: kind, Rows: uint32(b.draft.Nodes)},
		block: make([]Value, min(codec.ColumnRows, b.draft.Nodes)),
	}
	w.rowWriter = rowWriter[Value]{
		b: b, what: "column " + name, rows: w.entry.Rows, height: codec.ColumnRows, set: w.set, flush: w.flushBlock,
		encode: func(b []byte, cell Value) []byte { return cell.Append(b) }, decode: codec.ParseValue,
	}
	b.touched.Of(columnTouched(name)).All = true
	return w
}

// Put sets the value of a node. A class column takes class names, new ones are added to Classes by Commit.
func (w *ColumnWriter) Put(v NodeID, value Value) error {
	value, err := fit(w.entry.Kind, value)
	if err != nil {
		return w.b.fail(fmt.Errorf("%s: %w", w.what, err))
	}
	return w.putCell(v, w.b.draft.toCell(w.entry.Kind, value))
}

func (w *ColumnWriter) putCell(v NodeID, cell Value) error {
	if cell.IsNull() {
		return nil
	}
	return w.b.fail(w.put(v, cell))
}

// PutClasses sets the values of consecutive nodes of a class column, by number in the Classes of Bulk.Tx.
func (w *ColumnWriter) PutClasses(first NodeID, values []Class) error {
	for i, class := range values {
		if class == NoClass {
			continue
		}
		if w.entry.Kind != KindClass || class < 0 || int(class) >= len(w.b.draft.Classes) {
			return w.b.fail(fmt.Errorf("%s: %w: class number %d of %d for a %s column", w.what, ErrInvalidValue, class,
				len(w.b.draft.Classes), w.entry.Kind))
		}
		if err := w.putCell(first+NodeID(i), ValueOf(int64(class))); err != nil {
			return err
		}
	}
	return nil
}

func (w *ColumnWriter) set(v NodeID, cell Value) error {
	if len(cell.Str()) > longString || !codec.FitsBlock(cell) {
		w.entry.Deltas = true
		w.buf = cell.Append(w.buf[:0])
		return w.b.batch.Put(column.DeltaKey(w.entry.Generation, v), w.buf)
	}
	w.block[v-w.first] = cell
	return nil
}

func (w *ColumnWriter) flushBlock(rows int) error {
	w.b.block = codec.AppendColumn(w.b.block[:0], w.entry.Kind, w.block[:rows])
	clear(w.block)
	_, err := record.PutParts(w.b.batch.Put, column.Key(w.entry.Generation, uint32(w.first)/codec.ColumnRows), w.b.block)
	return err
}

// A MatrixWriter writes a whole matrix in a Bulk. It takes rows in ascending order, or after Sort in any order. A row
// left out is NaN.
type MatrixWriter struct {
	rowWriter[[]float32]
	entry matrix.Entry
	block codec.Window
	row   []float32 // scratch
}

func newMatrixWriter(b *Bulk, name string, columns []string, g record.Generation) *MatrixWriter {
	width := len(columns)
	entry := matrix.Entry{Generation: g, Columns: slices.Clone(columns), Rows: uint32(b.draft.Nodes)}
	rows := min(entry.BlockRows(), b.draft.Nodes)
	w := &MatrixWriter{
		entry: entry, row: make([]float32, width),
		block: codec.Window{Values: make([]float32, rows*width), Stride: width},
	}
	codec.FillWith(w.block.Values, float32(math.NaN()))
	w.rowWriter = rowWriter[[]float32]{
		b: b, what: "matrix " + name, rows: entry.Rows, height: uint32(entry.BlockRows()), set: w.set, flush: w.flushBlock,
		encode: matrix.AppendRow,
		decode: func(body []byte) ([]float32, error) { return w.row, matrix.ReadRow(body, w.row) },
	}
	b.touched.Of(matrixTouched(name)).All = true
	return w
}

// Put sets the row of a node, whose length must be the width. The caller may reuse row.
func (w *MatrixWriter) Put(v NodeID, row []float32) error {
	if err := w.entry.CheckWidth(row); err != nil {
		return w.b.fail(fmt.Errorf("%s, node number %d: %w", w.what, v, err))
	}
	return w.b.fail(w.put(v, row))
}

func (w *MatrixWriter) set(v NodeID, row []float32) error {
	copy(w.block.Row(int(v-w.first), 0, len(row)), row)
	return nil
}

func (w *MatrixWriter) flushBlock(rows int) error {
	block, width := uint32(w.first)/w.height, w.entry.TileWidth()
	for tile := 0; tile*width < w.block.Stride; tile++ {
		hi := min((tile+1)*width, w.block.Stride)
		w.buf = codec.AppendTile(w.buf[:0], w.block, rows, tile*width, hi)
		if err := w.b.batch.Put(matrix.Key(w.entry.Generation, block, uint32(tile)), w.buf); err != nil {
			return err
		}
	}
	codec.FillWith(w.block.Values, float32(math.NaN()))
	return nil
}

// A spaceWriter writes a whole space in a Bulk.
type spaceWriter struct {
	b          *Bulk
	name       string
	generation record.Generation
	last       []byte
}

func (w *spaceWriter) put(key, value []byte) error {
	if err := w.b.check(); err != nil {
		return err
	}
	if err := checkEntry(w.name, key, value); err != nil {
		return err
	}
	if bytes.Compare(key, w.last) <= 0 {
		return fmt.Errorf("space %s: %w: key %x after %x, want ascending keys", w.name, ErrInvalidValue, key, w.last)
	}
	w.last = append(w.last[:0], key...)
	return w.b.batch.Put(spaceKey(w.generation, key), value)
}
