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
	nodes  Range  // of the block; none if it could not be read
	writes int    // tx.writes when it was read
	asked  NodeID // the number of a block of which a value was read without making it the current one, plus one

	// Of the block, one of these:
	block   *codec.Column // of a stored column, not changed
	changes []change
	ids     *dict.Reader
	degrees []uint32

	vector Vector // of the block, once it is asked for
	floats []float64
	values []Value
	codes  []uint32
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
	return &ColumnReader{tx: tx, name: column, kind: info.Kind}, nil
}

// At is the value of a node, ErrNotFound for a NodeID beyond the last. Values of a removed node are null, its degree is
// 0.
func (r *ColumnReader) At(v NodeID) (Value, error) {
	isStored := r.name != idColumn && r.name != degreeColumn
	walks := v == r.nodes.End // on from the current block
	if block := v / BlockRows; isStored && !r.holds(v) && !walks && r.asked != block+1 {
		r.asked = block + 1
		if err := r.tx.checkNumber(v); err != nil {
			return Value{}, err
		}
		return r.tx.stored(v, r.name) // of many blocks only one value is wanted
	}
	if err := r.load(v); err != nil {
		return Value{}, err
	}
	return r.value(int(v - r.nodes.First))
}

// value is a row of the block.
func (r *ColumnReader) value(row int) (Value, error) {
	switch {
	case r.ids != nil:
		return r.id(r.nodes.First + NodeID(row))
	case r.block == nil:
		return ValueOf(int64(r.degrees[row])), nil
	}
	byRow := func(c change, row int) int { return cmp.Compare(c.row, row) }
	if i, found := slices.BinarySearchFunc(r.changes, row, byRow); found {
		return r.tx.fromCell(r.kind, r.changes[i].cell)
	}
	if row >= r.block.Count {
		return Value{}, nil // added after the block was written
	}
	return r.tx.fromCell(r.kind, r.block.Cell(row))
}

// id is the id of a node.
func (r *ColumnReader) id(v NodeID) (Value, error) {
	if removed, err := r.tx.isRemoved(v); removed || err != nil {
		return Value{}, err
	}
	id, err := r.ids.At(v)
	if err != nil {
		return Value{}, err
	}
	return r.tx.idValue(id)
}

// holds says whether the current block is that of v.
func (r *ColumnReader) holds(v NodeID) bool {
	return v >= r.nodes.First && v < r.nodes.End && r.writes == r.tx.writes
}

// load makes the block that holds v the current one.
func (r *ColumnReader) load(v NodeID) error {
	if r.holds(v) {
		return nil
	}
	r.nodes, r.vector = Range{}, Vector{}
	if r.writes != r.tx.writes {
		r.values, r.ids = nil, nil // there may be other classes
	}
	if err := r.tx.checkNumber(v); err != nil {
		return err
	}
	first := v / BlockRows * BlockRows
	nodes := Range{First: first, End: NodeID(min(int(first)+BlockRows, r.tx.cat.Nodes))}
	if err := r.read(nodes); err != nil {
		return fmt.Errorf("column %s: %w", r.name, err)
	}
	r.nodes, r.writes = nodes, r.tx.writes
	return nil
}

func (r *ColumnReader) read(nodes Range) error {
	switch r.name {
	case idColumn:
		if r.ids == nil {
			r.ids = r.tx.dict().Reader()
		}
		return nil
	case degreeColumn:
		r.degrees = slices.Grow(r.degrees[:0], nodes.Len())[:nodes.Len()]
		return r.tx.ReadDegrees(nodes, r.degrees)
	}
	entry, err := r.tx.columnEntry(r.name)
	if err != nil {
		return err
	}
	if uint32(nodes.First) >= entry.Rows {
		r.block = new(codec.Column) // all were added later
	} else if r.block, err = r.tx.column(entry).Lookup(uint32(nodes.First) / BlockRows); err != nil {
		return err
	}
	r.changes = r.changes[:0]
	return r.tx.column(entry).ReadDeltas(nodes, func(v NodeID, cell Value) {
		r.changes = append(r.changes, change{int(v - nodes.First), cell})
	})
}

// A Vector has the values of a block of consecutive nodes. Of a column of floats they are Floats, NaN for null. Of
// other columns the value of the i-th node is Table[Codes[i]], and Table[0] is null. The table of a class column has
// the classes in the order of their numbers, and is the same slice for all blocks of a reader. In other tables a value
// may stand twice. Ids have neither: At reads them.
type Vector struct {
	Nodes  Range
	Floats []float64
	Table  []Value
	Codes  []uint32
}

// Bounds returns the least and greatest non-null value of a block, null if all are null. Strings, and so classes, are
// ordered by their bytes.
func (b Vector) Bounds() (least, greatest Value) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, x := range b.Floats {
		if x == x { // not NaN
			low, high = min(low, x), max(high, x)
		}
	}
	if low <= high {
		return ValueOf(low), ValueOf(high)
	}
	seen := make([]bool, len(b.Table))
	for _, code := range b.Codes {
		seen[code] = true
	}
	for code, value := range b.Table {
		if code == 0 || !seen[code] {
			continue
		}
		if least.IsNull() || value.Compare(least) < 0 {
			least = value
		}
		if greatest.IsNull() || value.Compare(greatest) > 0 {
			greatest = value
		}
	}
	return least, greatest
}

// Block returns the values of the block that holds v. They are lent until the next use of the reader, and nobody
// changes them.
func (r *ColumnReader) Block(v NodeID) (Vector, error) {
	if err := r.load(v); err != nil {
		return Vector{}, err
	}
	if r.vector.Nodes != r.nodes {
		r.vector.Nodes = r.nodes
		if err := r.decode(); err != nil {
			r.nodes = Range{}
			return Vector{}, fmt.Errorf("column %s: %w", r.name, err)
		}
	}
	return r.vector, nil
}

// decode makes the vector of a block. Nodes that were added after the block of a stored column was written are null in
// it, unless they changed.
func (r *ColumnReader) decode() error {
	rows, loaded := r.nodes.Len(), 0
	if r.block != nil {
		loaded = min(r.block.Count, rows)
	}
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
	if r.ids != nil {
		return nil
	}
	r.codes = slices.Grow(r.codes[:0], rows)[:rows]
	clear(r.codes)
	coded := r.block != nil
	if r.kind == KindClass {
		if classes := r.tx.cat.Classes; len(r.values) != len(classes)+1 {
			r.values = make([]Value, 1, len(classes)+1)
			for _, class := range classes {
				r.values = append(r.values, ValueOf(class))
			}
		}
		r.block.ReadNumbers(r.codes[:loaded])
	} else {
		r.values = append(r.values[:0], Value{})
		if coded {
			r.values, coded = r.block.ReadCodes(r.codes[:loaded], r.values)
		}
	}
	for row := 0; !coded && row < rows; row++ {
		value, err := r.value(row)
		if err != nil {
			return err
		}
		r.codes[row] = r.code(value)
	}
	for _, c := range r.changes {
		r.codes[c.row] = r.code(c.cell)
	}
	if greatest := slices.Max(r.codes); int(greatest) >= len(r.values) {
		return fmt.Errorf("%w: %s number %d of %d", ErrCorrupt, r.kind, greatest-1, len(r.values)-1)
	}
	r.vector.Table, r.vector.Codes = r.values, r.codes
	return nil
}

// code is the code of a changed cell, or of a value of a block without codes.
func (r *ColumnReader) code(cell Value) uint32 {
	switch {
	case cell.IsNull():
		return 0
	case r.kind == KindClass:
		return uint32(min(uint64(cell.Int()), math.MaxInt32)) + 1
	case cell != r.values[len(r.values)-1]:
		r.values = append(r.values, cell)
	}
	return uint32(len(r.values) - 1)
}
