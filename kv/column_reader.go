package kv

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
)

// A ColumnReader reads values of one column. It keeps the last block, so reads of consecutive nodes are cheap. It
// belongs to one goroutine; a Tx may have many. In an Update it sees what was written before each call.
type ColumnReader struct {
	tx     *Tx
	name   string
	kind   Kind
	loaded bool
	rng    Range // the nodes of the block
	writes int   // tx.writes when it was read

	// of a stored column
	block   *codec.Column // not changed
	table   []Value       // the block's strings, made when first asked for
	changes []change
	reads   int    // values that were read of it
	asked   NodeID // the number of a block of which a value was read without making it the current one, plus one

	vector Vector // of the block, once it is asked for
	floats []float64
	values []Value
	codes  []uint32
	seen   []bool // which of the values a block has

	ids      *dict.Reader // of id
	idWrites int          // tx.writes when it was made
	degrees  []uint32     // of degree
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
	r := &ColumnReader{tx: tx, name: column, kind: info.Kind, idWrites: tx.writes}
	if column == idColumn {
		r.ids = tx.dict().Reader()
	}
	return r, nil
}

// At is the value of a node, ErrNotFound for a NodeID beyond the last. Values of a removed node are null, its degree is
// 0.
func (r *ColumnReader) At(v NodeID) (Value, error) {
	if r.ids != nil {
		return r.id(v)
	}
	block := v / codec.ColumnRows
	// on the current block, as in a walk over all nodes
	follows := r.loaded && r.reads >= walkReads && block == r.rng.End/codec.ColumnRows
	if r.name != degreeColumn && !r.holds(v) && !follows && r.asked != block+1 {
		r.asked = block + 1
		return r.once(v) // of many blocks only one value is wanted
	}
	if err := r.load(v); err != nil {
		return Value{}, err
	}
	r.reads++
	row := int(v - r.rng.First)
	if r.name == degreeColumn {
		return IntValue(int64(r.degrees[row])), nil
	}
	return r.tx.fromCell(r.kind, r.cell(row))
}

// id is the id of a node.
func (r *ColumnReader) id(v NodeID) (Value, error) {
	if err := r.tx.checkNumber(v); err != nil {
		return Value{}, err
	}
	if removed, err := r.tx.isRemoved(v); removed || err != nil {
		return Value{}, err
	}
	if r.idWrites != r.tx.writes {
		r.ids, r.idWrites = r.tx.dict().Reader(), r.tx.writes
	}
	id, err := r.ids.At(v)
	if err != nil {
		return Value{}, err
	}
	return r.tx.idValue(id)
}

// once is the value of a node of a stored column of whose block no value was asked for before.
func (r *ColumnReader) once(v NodeID) (Value, error) {
	if err := r.tx.checkNumber(v); err != nil {
		return Value{}, err
	}
	entry, err := r.tx.columnEntry(r.name)
	if err != nil {
		return Value{}, err
	}
	cell, err := r.tx.column(entry).Cell(v)
	if err != nil {
		return Value{}, fmt.Errorf("column %s: %w", r.name, err)
	}
	return r.tx.fromCell(r.kind, cell)
}

// Bounds returns the nodes of the block that holds v, and the least and greatest non-null value in it, null if all are
// null. A scan for values outside these bounds can skip to rng.End. Strings, and so classes, are ordered by their
// bytes. For the column id, the bounds are those of all ids.
func (r *ColumnReader) Bounds(v NodeID) (rng Range, least, greatest Value, err error) {
	if err := r.load(v); err != nil {
		return Range{}, Value{}, Value{}, err
	}
	include := func(value Value) {
		if value.IsNull() {
			return
		}
		if least.IsNull() || value.Compare(least) < 0 {
			least = value
		}
		if greatest.IsNull() || value.Compare(greatest) > 0 {
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
		block, err := r.Block(v)
		if err != nil {
			return Range{}, Value{}, Value{}, err
		}
		r.seen = slices.Grow(r.seen[:0], len(block.Table))[:len(block.Table)]
		clear(r.seen)
		for _, n := range block.Codes {
			r.seen[n] = true
		}
		for n, seen := range r.seen {
			if seen {
				include(block.Table[n])
			}
		}
		return r.rng, least, greatest, nil
	}
	least, greatest = r.block.Bounds(r.kind)
	for _, c := range r.changes {
		include(c.cell)
	}
	return r.rng, least, greatest, nil
}

// holds says whether the current block is that of v.
func (r *ColumnReader) holds(v NodeID) bool {
	return r.loaded && v >= r.rng.First && v < r.rng.End && r.writes == r.tx.writes
}

// walkReads is how many values of a block are read in a walk at least.
const walkReads = 16

// load makes the block that holds v the current one.
func (r *ColumnReader) load(v NodeID) error {
	if r.holds(v) {
		return nil
	}
	r.loaded = false
	if r.writes != r.tx.writes {
		r.values = nil // there may be other classes
	}
	if err := r.tx.checkNumber(v); err != nil {
		return err
	}
	first := v / codec.ColumnRows * codec.ColumnRows
	r.rng = Range{First: first, End: NodeID(min(int(first)+codec.ColumnRows, r.tx.cat.Nodes))}
	r.writes, r.reads, r.vector = r.tx.writes, 0, Vector{}
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
		count := r.rng.Len()
		r.degrees = slices.Grow(r.degrees[:0], count)[:count]
		return r.tx.ReadDegrees(r.rng, r.degrees)
	}
	entry, err := r.tx.columnEntry(r.name)
	if err != nil {
		return err
	}
	if uint32(r.rng.First) >= entry.Rows {
		r.block = new(codec.Column) // all were added later
	} else if r.block, err = r.tx.column(entry).Lookup(uint32(r.rng.First) / codec.ColumnRows); err != nil {
		return err
	}
	r.table = slices.Grow(r.table[:0], r.block.Texts())[:r.block.Texts()]
	clear(r.table)
	r.changes = r.changes[:0]
	return r.tx.column(entry).ReadDeltas(r.rng, func(v NodeID, cell Value) {
		r.changes = append(r.changes, change{int(v - r.rng.First), cell})
	})
}

// cell is a row of the current block of a stored column, as it is stored.
func (r *ColumnReader) cell(row int) Value {
	byRow := func(c change, row int) int { return cmp.Compare(c.row, row) }
	if i, found := slices.BinarySearchFunc(r.changes, row, byRow); found {
		return r.changes[i].cell
	}
	if row >= r.block.Count {
		return Value{} // added after the block was written
	}
	if len(r.table) > 0 {
		if n, ok := r.block.TextAt(row); ok {
			return r.tableValue(n)
		}
	}
	return r.block.Cell(row, r.kind)
}

// tableValue is a string of the block's table, made once.
func (r *ColumnReader) tableValue(n int) Value {
	if r.table[n].IsNull() {
		r.table[n] = StringValue(string(r.block.Text(n)))
	}
	return r.table[n]
}
