package kv

import (
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// BlockRows is how many consecutive nodes a block of a column has. The first of them is a multiple of it.
const BlockRows = codec.ColumnRows

// A Vector has the values of a block of consecutive nodes. Of a column of floats they are Floats, NaN for null. Of
// other columns the value of the i-th node is Table[Codes[i]], and Table[0] is null. The table of a class column has
// the classes in the order of their numbers, and is the same slice for all blocks of a reader; that of a column of
// bools has false and true. In other tables a value may stand twice. Ids, degrees and ints that are far apart have
// neither: At reads them.
type Vector struct {
	Nodes  Range
	Floats []float64
	Table  []Value
	Codes  []uint32
}

// maxIntCodes is how many different ints a block may have for them to be coded.
const maxIntCodes = 256

// Block returns the values of the block that holds v. They are lent until the next use of the reader, and nobody
// changes them.
func (r *ColumnReader) Block(v NodeID) (Vector, error) {
	if err := r.load(v); err != nil {
		return Vector{}, err
	}
	if r.vector.Nodes != r.rng {
		r.vector = Vector{Nodes: r.rng}
		if r.block != nil {
			if err := r.decode(); err != nil {
				r.loaded = false
				return Vector{}, fmt.Errorf("column %s: %w", r.name, err)
			}
		}
	}
	return r.vector, nil
}

// decode makes the vector of a block of a stored column. Nodes that were added after the block was written are null in
// it, unless they changed.
func (r *ColumnReader) decode() error {
	rows := r.rng.Len()
	loaded := min(r.block.Count, rows)
	if r.kind == KindFloat || r.kind == KindSingle {
		r.floats = slices.Grow(r.floats[:0], rows)[:rows]
		r.block.ReadFloats(r.floats[:loaded])
		for i := loaded; i < rows; i++ {
			r.floats[i] = math.NaN()
		}
		for _, c := range r.changes {
			r.floats[c.row] = c.cell.Float() // NaN of null
		}
		r.vector.Floats = r.floats
		return nil
	}
	base, ok := r.fillTable()
	if !ok {
		return nil
	}
	r.codes = slices.Grow(r.codes[:0], rows)[:rows]
	r.block.ReadOffsets(r.codes[:loaded], base)
	clear(r.codes[loaded:])
	for _, c := range r.changes {
		r.codes[c.row] = r.code(c.cell)
	}
	if greatest := slices.Max(r.codes); int(greatest) >= len(r.values) {
		return fmt.Errorf("%w: %s number %d of %d", ErrCorrupt, r.kind, greatest-1, len(r.values)-1)
	}
	r.vector.Table, r.vector.Codes = r.values, r.codes
	return nil
}

// fillTable makes the table of values, and returns the code of the least of the block; false if the values have no
// codes.
func (r *ColumnReader) fillTable() (base uint32, ok bool) {
	switch r.kind {
	case KindClass:
		if classes := r.tx.cat.Classes; len(r.values) != len(classes)+1 {
			r.values = make([]Value, 1, len(classes)+1)
			for _, class := range classes {
				r.values = append(r.values, StringValue(class))
			}
		}
		return uint32(r.block.Least()) + 1, true
	case KindBool:
		r.values = append(r.values[:0], Value{}, BoolValue(false), BoolValue(true))
		return uint32(r.block.Least()) + 1, true
	case KindString:
		r.values = append(r.values[:0], Value{})
		for n := range r.table {
			r.values = append(r.values, r.tableValue(n))
		}
		return 1, true
	}
	count, ok := r.block.Ints(maxIntCodes)
	if !ok {
		return 0, false
	}
	r.values = append(r.values[:0], Value{})
	for i := range count {
		r.values = append(r.values, IntValue(r.block.Least()+int64(i)))
	}
	return 1, true
}

// code is the code of a changed cell. One that no column of the kind has gets a code beyond the table.
func (r *ColumnReader) code(cell Value) uint32 {
	switch {
	case cell.IsNull():
		return 0
	case r.kind == KindClass:
		return uint32(min(uint64(cell.Int()), math.MaxInt32)) + 1
	case r.kind == KindBool && cell.Kind() != KindBool:
		return uint32(len(r.values))
	case r.kind == KindBool:
		return 1 + uint32(codec.Bit(cell.Bool()))
	}
	r.values = append(r.values, cell)
	return uint32(len(r.values) - 1)
}
