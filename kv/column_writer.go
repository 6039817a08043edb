package kv

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/internal/spill"
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
	b     *Bulk
	name  string
	entry column.Entry
	block []Value
	first NodeID // of block
	next  NodeID // the least node that is still in order

	sorter *spill.Sorter // of all rows; nil if they ascend
	cell   []byte        // scratch
}

func newColumnWriter(b *Bulk, name string, kind Kind, g record.Generation) *ColumnWriter {
	entry := column.Entry{Generation: g, Kind: kind, Rows: uint32(b.draft.Nodes)}
	w := &ColumnWriter{b: b, name: name, entry: entry, block: make([]Value, 0, min(codec.ColumnRows, b.draft.Nodes))}
	w.startBlock(0)
	b.touched.addAll(columnTouched(name))
	return w
}

// Put sets the value of a node. A class column takes class names, new ones are added to Classes by Commit.
func (w *ColumnWriter) Put(v NodeID, value Value) error { return w.b.fail(w.putValue(v, value)) }

func (w *ColumnWriter) putValue(v NodeID, value Value) error {
	value, err := fit(w.entry.Kind, value)
	if err != nil {
		return fmt.Errorf("column %s: %w", w.name, err)
	}
	return w.put(v, w.b.draft.toCell(w.entry.Kind, value))
}

// PutFloats sets the values of consecutive nodes of a float or single column; NaN is null.
func (w *ColumnWriter) PutFloats(first NodeID, values []float32) error {
	return w.b.fail(w.putFloats(first, values))
}

func (w *ColumnWriter) putFloats(first NodeID, values []float32) error {
	if w.entry.Kind != KindFloat && w.entry.Kind != KindSingle {
		return fmt.Errorf("column %s: %w: floats for a %s column", w.name, ErrInvalidValue, w.entry.Kind)
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
		return fmt.Errorf("column %s: %w: classes for a %s column", w.name, ErrInvalidValue, w.entry.Kind)
	}
	for i, class := range values {
		cell := Value{}
		if class != NoClass {
			if class < 0 || int(class) >= len(w.b.draft.Classes) {
				return fmt.Errorf("column %s: %w: class number %d of %d", w.name, ErrInvalidValue, class, len(w.b.draft.Classes))
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
	if err := w.b.check(); err != nil {
		return err
	}
	if uint32(v) >= w.entry.Rows {
		return fmt.Errorf("column %s: node number %d of %d: %w", w.name, v, w.entry.Rows, ErrShape)
	}
	if cell.IsNull() || w.b.removed.Has(v) {
		return nil
	}
	if w.sorter != nil {
		w.cell = cell.Append(w.cell[:0])
		return w.sorter.AddUint64(uint64(v), w.cell)
	}
	if v < w.next {
		return fmt.Errorf("column %s: %w", w.name, outOfOrder(v, w.next-1))
	}
	return w.set(v, cell)
}

// set takes the next row in order.
func (w *ColumnWriter) set(v NodeID, cell Value) error {
	for v-w.first >= codec.ColumnRows {
		if err := w.flushBlock(); err != nil {
			return err
		}
	}
	w.next = v + 1
	if len(cell.Str()) > longString {
		w.entry.Deltas = true
		w.cell = cell.Append(w.cell[:0])
		return w.b.batch.Put(column.DeltaKey(w.entry.Generation, v), w.cell)
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

// outOfOrder is the error of a row that does not follow the one before.
func outOfOrder(v, before NodeID) error {
	return fmt.Errorf("node number %d after %d: %w: the rows do not ascend, and the writer does not sort them", v, before, ErrInvalidValue)
}

// finish writes what is buffered and returns the column's entry.
func (w *ColumnWriter) finish() (column.Entry, error) {
	if w.sorter != nil {
		w.startBlock(0)
		err := sortedRows(w.sorter, "column "+w.name, func(v NodeID, body []byte) error {
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

// close removes what was spilled.
func (w *ColumnWriter) close() error {
	if w.sorter == nil {
		return nil
	}
	return w.sorter.Close()
}
