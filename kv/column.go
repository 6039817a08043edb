package kv

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/column"
)

// LabelColumn is the column of given labels, which every store has.
const LabelColumn = "label"

// The built-in properties that are no stored columns.
const (
	idColumn     = "id"
	degreeColumn = "degree"
)

// ReservedNames are the built-in property names a user column may not take; split may be declared, as a string.
var ReservedNames = []string{"id", "label", "suggested", "score", "confidence", "degree", "split", "decision", "run"}

// A Column is a named property of nodes.
type Column struct {
	Name    string
	Kind    Kind
	Indexed bool
}

// Columns lists the stored columns, sorted by name; id and degree are not among them.
func (tx *Tx) Columns() []Column {
	columns := make([]Column, 0, len(tx.cat.Columns))
	for name, entry := range tx.cat.Columns {
		columns = append(columns, Column{name, entry.Kind, entry.Indexed})
	}
	slices.SortFunc(columns, func(a, b Column) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return columns
}

// Column returns a column by name, also id (an int column when IntegerIDs, else a string column) and degree (int).
func (tx *Tx) Column(name string) (Column, bool) {
	switch {
	case name == degreeColumn, name == idColumn && tx.cat.IntegerIDs:
		return Column{Name: name, Kind: KindInt}, true
	case name == idColumn:
		return Column{Name: name, Kind: KindString}, true
	}
	entry, ok := tx.cat.Columns[name]
	return Column{name, entry.Kind, entry.Indexed}, ok
}

// column is a column of the transaction.
func (tx *Tx) column(entry column.Entry) column.Column {
	return column.Column{Entry: entry, Records: tx.records(), Nodes: tx.cat.Nodes}
}

// columnEntry returns a stored column's entry, or ErrNoColumn.
func (tx *Tx) columnEntry(name string) (column.Entry, error) {
	if err := tx.Err(); err != nil {
		return column.Entry{}, err
	}
	entry, ok := tx.cat.Columns[name]
	if !ok {
		return entry, noColumn(name)
	}
	return entry, nil
}

func noColumn(name string) error { return fmt.Errorf("column %s: %w", name, ErrNoColumn) }

// Value is one property of one node; id and degree too. It returns ErrNotFound for a node that is not there and
// ErrNoColumn for a column that is not.
func (tx *Tx) Value(v NodeID, column string) (Value, error) {
	if err := tx.checkNode(v); err != nil {
		return Value{}, err
	}
	switch column {
	case idColumn:
		id, err := tx.ID(v)
		if err != nil {
			return Value{}, err
		}
		return tx.idValue(id)
	case degreeColumn:
		degree, err := tx.Degree(v)
		return IntValue(int64(degree)), err
	}
	entry, err := tx.columnEntry(column)
	if err != nil {
		return Value{}, err
	}
	cell, err := tx.column(entry).Cell(v)
	if err != nil {
		return Value{}, fmt.Errorf("column %s: %w", column, err)
	}
	return tx.fromCell(entry.Kind, cell)
}

// idValue is an external id as the value of the id column.
func (tx *Tx) idValue(id string) (Value, error) {
	if !tx.cat.IntegerIDs {
		return StringValue(id), nil
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return Value{}, fmt.Errorf("node id %q: %w: it is no integer, as all should be", id, ErrCorrupt)
	}
	return IntValue(n), nil
}

// Label is the given label of a node.
func (tx *Tx) Label(v NodeID) (Class, error) {
	if err := tx.checkNode(v); err != nil {
		return NoClass, err
	}
	entry, err := tx.columnEntry(LabelColumn)
	if err != nil {
		return NoClass, err
	}
	cell, err := tx.column(entry).Cell(v)
	if err != nil || cell.IsNull() {
		return NoClass, err
	}
	return Class(cell.Int()), nil
}

// fromCell is the value that a cell stands for.
func (tx *Tx) fromCell(k Kind, cell Value) (Value, error) {
	if k != KindClass || cell.IsNull() {
		return cell, nil
	}
	number := cell.Int()
	if number < 0 || number >= int64(len(tx.cat.Classes)) {
		return Value{}, fmt.Errorf("%w: class number %d of %d", ErrCorrupt, number, len(tx.cat.Classes))
	}
	return StringValue(tx.cat.Classes[number]), nil
}

// ReadClasses reads a whole class column into dst, whose length must be NumNodes; null is NoClass.
func (tx *Tx) ReadClasses(column string, dst []Class) error {
	return tx.ReadClassRange(column, Range{First: 0, End: NodeID(tx.cat.Nodes)}, dst)
}

// ReadClassRange reads the classes of the nodes of r into dst, one for each; null is NoClass. Where len(dst) is not
// r.Len(), or r not of nodes that are there, it is an ErrShape.
func (tx *Tx) ReadClassRange(column string, r Range, dst []Class) error {
	entry, err := tx.columnEntry(column)
	if err != nil {
		return err
	}
	if r.End < r.First || int64(r.End) > int64(tx.cat.Nodes) || len(dst) != r.Len() {
		return fmt.Errorf("column %s: %w: nodes %d to %d of %d into a slice of %d",
			column, ErrShape, r.First, r.End, tx.cat.Nodes, len(dst))
	}
	if entry.Kind != KindClass {
		return fmt.Errorf("column %s: %w: it is a %s column, want class", column, ErrInvalidValue, entry.Kind)
	}
	err = tx.column(entry).Read(r, func(block *codec.Column, first NodeID, lo, hi int) error {
		for i := lo; i < hi; i++ {
			v := first + NodeID(i) - r.First
			if block.IsNull(i) {
				dst[v] = NoClass
			} else {
				dst[v] = Class(block.Int(i))
			}
		}
		return nil
	}, func(v NodeID, cell Value) {
		dst[v-r.First] = NoClass
		if !cell.IsNull() {
			dst[v-r.First] = Class(cell.Int())
		}
	})
	if err != nil {
		return fmt.Errorf("column %s: %w", column, err)
	}
	for i, class := range dst {
		if class < NoClass || int(class) >= len(tx.cat.Classes) {
			return fmt.Errorf("column %s, node number %d: %w: class number %d of %d",
				column, int(r.First)+i, ErrCorrupt, class, len(tx.cat.Classes))
		}
	}
	return nil
}

// ReadFloats reads a whole column of numbers into dst, whose length must be NumNodes; null is NaN. Ints are converted,
// degree is a column too.
func (tx *Tx) ReadFloats(column string, dst []float64) error {
	if column == degreeColumn {
		return tx.readDegreeFloats(dst)
	}
	entry, err := tx.wholeColumn(column, len(dst))
	if err != nil {
		return err
	}
	switch entry.Kind {
	case KindInt, KindFloat, KindSingle:
	default:
		return fmt.Errorf("column %s: %w: it is a %s column, want numbers", column, ErrInvalidValue, entry.Kind)
	}
	all := Range{First: 0, End: NodeID(tx.cat.Nodes)}
	err = tx.column(entry).Read(all, func(block *codec.Column, first NodeID, lo, hi int) error {
		for i := lo; i < hi; i++ {
			if v := int(first) + i; block.IsNull(i) {
				dst[v] = math.NaN()
			} else {
				dst[v] = block.Number(i)
			}
		}
		return nil
	}, func(v NodeID, cell Value) { dst[v] = cell.Float() })
	if err != nil {
		return fmt.Errorf("column %s: %w", column, err)
	}
	return nil
}

// wholeColumn checks what a read of a whole column is given.
func (tx *Tx) wholeColumn(column string, length int) (column.Entry, error) {
	entry, err := tx.columnEntry(column)
	if err != nil {
		return entry, err
	}
	if length != tx.cat.Nodes {
		return entry, fmt.Errorf("column %s: %w: a slice of %d for %d nodes", column, ErrShape, length, tx.cat.Nodes)
	}
	return entry, nil
}

func (tx *Tx) readDegreeFloats(dst []float64) error {
	if err := tx.Err(); err != nil {
		return err
	}
	if len(dst) != tx.cat.Nodes {
		return fmt.Errorf("column %s: %w: a slice of %d for %d nodes", degreeColumn, ErrShape, len(dst), tx.cat.Nodes)
	}
	var degrees [codec.ColumnRows]uint32
	for first := 0; first < len(dst); first += codec.ColumnRows {
		part := dst[first:min(first+codec.ColumnRows, len(dst))]
		if err := tx.ReadDegrees(Range{First: NodeID(first), End: NodeID(first + len(part))}, degrees[:len(part)]); err != nil {
			return err
		}
		for i := range part {
			part[i] = float64(degrees[i])
		}
	}
	return nil
}
