package kv

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/column"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// longString is the length from which a string does not go into a block but beside it, as a delta, so that a block of
// long texts does not have to be read for each of them.
const longString = 4 << 10

// A ColumnWriter writes a whole column in a Bulk. It takes nodes in ascending order, or after Sort in any order. A node
// without a value is null.
type ColumnWriter struct {
	rowOrder
	entry column.Entry
	block []Value
	first NodeID // of block
}

func newColumnWriter(b *Bulk, name string, kind Kind, g record.Generation) *ColumnWriter {
	entry := column.Entry{Generation: g, Kind: kind, Rows: uint32(b.draft.Nodes)}
	w := &ColumnWriter{
		rowOrder: rowOrder{b: b, what: "column " + name, rows: entry.Rows},
		entry:    entry, block: make([]Value, 0, min(codec.ColumnRows, b.draft.Nodes)),
	}
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
	for v-w.first >= codec.ColumnRows {
		if err := w.flushBlock(); err != nil {
			return err
		}
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
// given two values, Commit returns a *DuplicateRowError. Call Sort before the first Put.
func (w *ColumnWriter) Sort() { w.sorter = w.b.Sorter() }

// finish writes what is buffered and returns the column's entry.
func (w *ColumnWriter) finish() (column.Entry, error) {
	if w.sorter != nil {
		w.startBlock(0)
		err := w.sorted(func(v NodeID, body []byte) error {
			cell, err := codec.ParseValue(body)
			if err != nil {
				return err
			}
			return w.set(v, cell)
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
