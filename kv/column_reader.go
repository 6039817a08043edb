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
	changes []change
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
	walks := r.loaded && v == r.rng.End // on from the current block
	if block := v / codec.ColumnRows; r.name != degreeColumn && !r.holds(v) && !walks && r.asked != block+1 {
		r.asked = block + 1
		if err := r.tx.checkNumber(v); err != nil {
			return Value{}, err
		}
		return r.tx.stored(v, r.name) // of many blocks only one value is wanted
	}
	if err := r.load(v); err != nil {
		return Value{}, err
	}
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
	r.writes, r.vector = r.tx.writes, Vector{}
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
	return r.block.Cell(row, r.kind)
}

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
		for n := range r.block.Texts() {
			r.values = append(r.values, StringValue(string(r.block.Text(n))))
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
