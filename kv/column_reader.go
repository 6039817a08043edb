package kv

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A ColumnReader reads values of one column, keeping the block it last read, so that neighbouring nodes cost little. It
// belongs to one goroutine; a Tx may have many. In an Update it sees what was written before each call.
type ColumnReader struct {
	tx     *Tx
	name   string
	kind   Kind
	loaded bool
	rng    Range // the nodes of the block
	writes int   // tx.writes when it was read

	// of a stored column
	block   *columnBlock // not changed
	table   []Value      // the block's strings, made when first asked for
	changes []change

	ids     *idReader // of id
	degrees []uint32  // of degree
}

// A change is a delta within a reader's block, by its row.
type change struct {
	row  int
	cell Value
}

// Reader returns a reader of a column, of id or of degree; ErrNoColumn when there is none.
func (tx *Tx) Reader(column string) (*ColumnReader, error) {
	if err := tx.Err(); err != nil {
		return nil, err
	}
	info, ok := tx.Column(column)
	if !ok {
		return nil, noColumn(column)
	}
	r := &ColumnReader{tx: tx, name: column, kind: info.Kind}
	if column == idColumn {
		r.ids = tx.newIDReader()
	}
	return r, nil
}

// At is the value of a node, ErrNotFound for a node that is not there.
func (r *ColumnReader) At(v NodeID) (Value, error) {
	if r.ids != nil {
		id, err := r.ids.at(v)
		if err != nil {
			return Value{}, err
		}
		return r.tx.idValue(id)
	}
	if err := r.load(v); err != nil {
		return Value{}, err
	}
	return r.value(int(v - r.rng.First))
}

// Block returns the nodes of the block that holds v, and the least and greatest non-null value in it, null when all are
// null: a scan for other values can go on at rng.End. Strings, and so classes, are ordered by their bytes. Of id, which has
// no order of blocks, they are bounds of every id.
func (r *ColumnReader) Block(v NodeID) (rng Range, least, greatest Value, err error) {
	if err := r.load(v); err != nil {
		return Range{}, Value{}, Value{}, err
	}
	include := func(value Value) {
		if value.IsNull() {
			return
		}
		if least.IsNull() || value.compare(least) < 0 {
			least = value
		}
		if greatest.IsNull() || value.compare(greatest) > 0 {
			greatest = value
		}
	}
	switch {
	case r.ids != nil && r.kind == KindInt:
		return r.rng, IntValue(math.MinInt64), IntValue(math.MaxInt64), nil
	case r.ids != nil:
		return r.rng, StringValue(""), StringValue("\xff"), nil // no UTF-8 has this byte
	case r.name == degreeColumn:
		return r.rng, IntValue(int64(slices.Min(r.degrees))), IntValue(int64(slices.Max(r.degrees))), nil
	case r.kind == KindClass:
		// The order of class numbers is not that of their names.
		for row := range int(r.rng.End - r.rng.First) {
			value, err := r.value(row)
			if err != nil {
				return Range{}, Value{}, Value{}, err
			}
			include(value)
		}
		return r.rng, least, greatest, nil
	case r.block.encoding == blockInts && r.kind == KindBool:
		include(BoolValue(r.block.least != 0))
		include(BoolValue(r.block.greatest != 0))
	case r.block.encoding == blockInts:
		include(IntValue(r.block.least))
		include(IntValue(r.block.greatest))
	case r.block.encoding == blockFloats:
		include(FloatValue(r.block.leastF))
		include(FloatValue(r.block.greatestF))
	case r.block.encoding == blockStrings:
		include(r.tableValue(0))
		include(r.tableValue(len(r.block.ends) - 1))
	}
	for _, c := range r.changes {
		include(c.cell)
	}
	return r.rng, least, greatest, nil
}

// load makes the block that holds v the current one.
func (r *ColumnReader) load(v NodeID) error {
	if r.loaded && v >= r.rng.First && v < r.rng.End && r.writes == r.tx.writes {
		return nil
	}
	r.loaded = false
	if err := r.tx.checkNode(v); err != nil {
		return err
	}
	first := v / columnBlockRows * columnBlockRows
	r.rng = Range{first, NodeID(min(int(first)+columnBlockRows, r.tx.cat.Nodes))}
	r.writes = r.tx.writes
	if err := r.read(); err != nil {
		return fmt.Errorf("column %s: %w", r.name, err)
	}
	r.loaded = true
	return nil
}

func (r *ColumnReader) read() error {
	switch r.name {
	case idColumn:
		return nil
	case degreeColumn:
		count := int(r.rng.End - r.rng.First)
		r.degrees = slices.Grow(r.degrees[:0], count)[:count]
		return r.tx.ReadDegrees(r.rng, r.degrees)
	}
	entry, err := r.tx.columnEntry(r.name)
	if err != nil {
		return err
	}
	r.block = new(columnBlock)
	if uint32(r.rng.First) < entry.Rows {
		if r.block, err = r.tx.lookupColumn(entry, uint32(r.rng.First)/columnBlockRows); err != nil {
			return err
		}
	}
	r.table = slices.Grow(r.table[:0], len(r.block.ends))[:len(r.block.ends)]
	clear(r.table)
	r.changes = r.changes[:0]
	return r.tx.columnDeltas(entry, r.rng, func(v NodeID, cell Value) {
		r.changes = append(r.changes, change{int(v - r.rng.First), cell})
	})
}

// value is a row of the current block.
func (r *ColumnReader) value(row int) (Value, error) {
	if r.name == degreeColumn {
		return IntValue(int64(r.degrees[row])), nil
	}
	if i, found := slices.BinarySearchFunc(r.changes, row, func(c change, row int) int { return cmp.Compare(c.row, row) }); found {
		return r.tx.fromCell(r.kind, r.changes[i].cell)
	}
	switch {
	case row >= r.block.count:
		return Value{}, nil // added after the block was written
	case r.block.encoding == blockStrings && !r.block.isNull(row):
		return r.tableValue(int(r.block.values.at(row))), nil
	}
	return r.tx.fromCell(r.kind, r.block.cell(row, r.kind))
}

// tableValue is a string of the block's table, made once.
func (r *ColumnReader) tableValue(n int) Value {
	if r.table[n].IsNull() {
		r.table[n] = StringValue(string(r.block.str(n)))
	}
	return r.table[n]
}
