package kv

import (
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/matrix"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A MatrixWriter writes a whole matrix in a Bulk. It takes rows in ascending order, or after Sort in any order. A row
// left out is NaN.
type MatrixWriter struct {
	rowOrder
	entry    matrix.Entry
	encoding MatrixEncoding
	block    codec.Window
	present  []bool    // rows of block that were put
	fills    []float32 // of the rows of block, if these share a value; else nil
	first    NodeID    // of block
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
		rowOrder: rowOrder{b: b, what: "matrix " + name, rows: entry.Rows},
		entry:    entry, encoding: e,
		block: codec.Window{Values: make([]float32, rows*width), Stride: width},
		row:   make([]float32, width),
	}
	if e.Shares(width) {
		w.fills = make([]float32, rows)
	}
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
	for int(v-w.first) >= int(w.entry.BlockRows) {
		if err := w.flushBlock(); err != nil {
			return err
		}
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
// given two rows, Commit returns a *DuplicateRowError. Call Sort before the first Put.
func (w *MatrixWriter) Sort() { w.sorter = w.b.Sorter() }

// finish writes what is buffered and returns the matrix's entry.
func (w *MatrixWriter) finish() (matrix.Entry, error) {
	if w.sorter != nil {
		w.startBlock(0)
		err := w.sorted(func(v NodeID, body []byte) error {
			if err := matrix.ReadRow(body, w.row); err != nil {
				return err
			}
			return w.set(v, w.row)
		})
		if err != nil {
			return w.entry, err
		}
	}
	for uint32(w.first) < w.entry.Rows {
		if err := w.flushBlock(); err != nil {
			return w.entry, err
		}
	}
	return w.entry, nil
}
