package kv

import (
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// BlockRows is how many consecutive nodes a block of a column has. The first of them is a multiple of it.
const BlockRows = codec.ColumnRows

// Codes are the values of a block of a column as numbers: the value of its i-th node is Table[Rows[i]]. Table[0] is null. Of a class
// column, the table has the classes in the order of their numbers, and it is the same slice for all blocks of a reader; of a column of
// bools, it has false and true. In other tables a value may stand twice.
type Codes struct {
	Table []Value
	Rows  []uint32
}

// maxIntCodes is how many different ints a block may have for them to be coded.
const maxIntCodes = 256

// Codes returns the values of the block that holds v. Ok is false if they have no codes: those of id, of degree, of columns of floats, and of ints
// that are far apart. The codes are lent until the next use of the reader, and nobody changes them.
func (r *ColumnReader) Codes(v NodeID) (codes Codes, ok bool, err error) {
	if r.ids != nil || r.name == degreeColumn || r.kind == KindFloat || r.kind == KindSingle {
		return Codes{}, false, nil
	}
	if err := r.load(v, false); err != nil {
		return Codes{}, false, err
	}
	if !r.coded {
		if r.codes.Rows == nil {
			r.codes.Rows = make([]uint32, 0, BlockRows)
		}
		r.codes.Rows = r.codes.Rows[:r.rng.Len()]
		if r.hasCodes, err = r.encode(); err != nil {
			return Codes{}, false, fmt.Errorf("column %s: %w", r.name, err)
		}
		r.coded = true
	}
	return r.codes, r.hasCodes, nil
}

// encode makes the codes of the current block.
func (r *ColumnReader) encode() (ok bool, err error) {
	loaded := r.codes.Rows[:min(r.block.Count, len(r.codes.Rows))]
	clear(r.codes.Rows[len(loaded):]) // added after the block was written
	switch r.kind {
	case KindClass:
		return true, r.encodeClasses(loaded)
	case KindBool:
		if r.codes.Table == nil {
			r.codes.Table = []Value{{}, BoolValue(false), BoolValue(true)}
		}
		r.block.ReadOffsets(loaded, uint32(r.block.Least())+1)
		for _, c := range r.changes {
			n := slices.Index(r.codes.Table, c.cell)
			if n < 0 {
				return false, fmt.Errorf("%w: %v of a bool", ErrCorrupt, c.cell)
			}
			r.codes.Rows[c.row] = uint32(n)
		}
		return true, nil
	case KindString:
		r.codes.Table = append(r.codes.Table[:0], Value{})
		for n := range r.table {
			r.codes.Table = append(r.codes.Table, r.tableValue(n))
		}
	default:
		count, fits := r.block.Ints(maxIntCodes)
		if !fits {
			return false, nil
		}
		r.codes.Table = append(r.codes.Table[:0], Value{})
		for i := range count {
			r.codes.Table = append(r.codes.Table, IntValue(r.block.Least()+int64(i)))
		}
	}
	r.block.ReadOffsets(loaded, 1)
	for _, c := range r.changes {
		r.codes.Rows[c.row] = 0
		if !c.cell.IsNull() {
			r.codes.Rows[c.row] = uint32(len(r.codes.Table))
			r.codes.Table = append(r.codes.Table, c.cell)
		}
	}
	return true, nil
}

// encodeClasses makes the codes of a block of classes. Their table is made again when there are more classes.
func (r *ColumnReader) encodeClasses(loaded []uint32) error {
	classes := r.tx.cat.Classes
	if len(r.codes.Table) != len(classes)+1 {
		r.codes.Table = make([]Value, 1, len(classes)+1)
		for _, class := range classes {
			r.codes.Table = append(r.codes.Table, StringValue(class))
		}
	}
	r.block.ReadOffsets(loaded, uint32(r.block.Least())+1)
	for _, c := range r.changes {
		r.codes.Rows[c.row] = 0
		if !c.cell.IsNull() {
			r.codes.Rows[c.row] = uint32(min(uint64(c.cell.Int()), math.MaxInt32)) + 1
		}
	}
	greatest := uint32(0)
	for _, n := range r.codes.Rows {
		greatest = max(greatest, n)
	}
	if int(greatest) > len(classes) {
		return fmt.Errorf("%w: class number %d of %d", ErrCorrupt, greatest-1, len(classes))
	}
	return nil
}

// Floats returns the values of the block that holds v, NaN for null. Ok is false if the column is not one of floats. The numbers are lent until the
// next use of the reader, and nobody changes them.
func (r *ColumnReader) Floats(v NodeID) (values []float64, ok bool, err error) {
	if r.kind != KindFloat && r.kind != KindSingle {
		return nil, false, nil
	}
	if err := r.load(v, false); err != nil {
		return nil, false, err
	}
	if !r.coded {
		if r.floats == nil {
			r.floats = make([]float64, 0, BlockRows)
		}
		r.floats = r.floats[:r.rng.Len()]
		loaded := r.floats[:min(r.block.Count, len(r.floats))]
		r.block.ReadFloats(loaded)
		for i := len(loaded); i < len(r.floats); i++ { // added after the block was written
			r.floats[i] = math.NaN()
		}
		for _, c := range r.changes {
			if r.floats[c.row] = math.NaN(); !c.cell.IsNull() {
				r.floats[c.row] = c.cell.Float()
			}
		}
		r.coded = true
	}
	return r.floats, true, nil
}
