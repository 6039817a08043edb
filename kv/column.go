package kv

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/column"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// The built-in properties that are no stored columns.
const (
	idColumn     = "id"
	degreeColumn = "degree"
)

// A Column is a named property of nodes.
type Column struct {
	Name    string
	Kind    Kind
	Indexed bool
}

// Columns lists the stored columns, sorted by name; id and degree are not among them.
func (tx *Tx) Columns() []Column {
	columns := make([]Column, 0, len(tx.cat.Columns))
	for _, name := range sortedNames(tx.cat.Columns) {
		entry := tx.cat.Columns[name]
		columns = append(columns, Column{name, entry.Kind, entry.Indexed})
	}
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
func (tx *Tx) column(entry column.Entry) *column.Column {
	return &column.Column{Entry: entry, Records: tx.records(), Nodes: tx.cat.Nodes}
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

// Origin tells whether a value may have changed between two snapshots: a property of a node that has the same origin in
// both, not 0, has the same value. The origin is 0 if the value was set on its own, after those of all nodes were
// written, and for the id of a removed node.
func (tx *Tx) Origin(property string, v NodeID) (uint64, error) {
	if property == idColumn {
		removed, err := tx.isRemoved(v)
		if err = cmp.Or(tx.Err(), err); err != nil || removed || int(v) >= tx.cat.LoadedNodes {
			return 0, err
		}
		return uint64(tx.cat.Graph)<<1 | uint64(codec.Bit(tx.cat.IntegerIDs)), nil // one new id may turn all into text
	}
	entry, err := tx.columnEntry(property)
	if err != nil {
		return 0, err
	}
	if _, changed, err := tx.column(entry).Changed(v); changed || err != nil {
		return 0, err
	}
	return uint64(entry.Generation), nil
}

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
		return ValueOf(int64(degree)), err
	}
	return tx.stored(v, column)
}

// stored is the value of a node in a stored column; null of a removed node.
func (tx *Tx) stored(v NodeID, column string) (Value, error) {
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
		return ValueOf(id), nil
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return Value{}, fmt.Errorf("node id %q: %w: it is no integer, as all should be", id, ErrCorrupt)
	}
	return ValueOf(n), nil
}

// Label is the given label of a node.
func (tx *Tx) Label(v NodeID) (Class, error) {
	if err := tx.checkNode(v); err != nil {
		return NoClass, err
	}
	return tx.labelOf(v)
}

// labelOf is Label, and NoClass of a node that is not there.
func (tx *Tx) labelOf(v NodeID) (Class, error) {
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
	return ValueOf(tx.cat.Classes[number]), nil
}

// ReadClasses reads the classes of the nodes of r into dst, one for each; null is NoClass. If len(dst) is not
// r.Len(), or r not of nodes that are there, it is an ErrShape.
func (tx *Tx) ReadClasses(column string, r Range, dst []Class) error {
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
	values, err := tx.Reader(column)
	if err != nil {
		return err
	}
	for len(dst) > 0 {
		block, err := values.Block(r.End - NodeID(len(dst)))
		if err != nil {
			return err
		}
		codes := block.Codes[r.End-NodeID(len(dst))-block.Nodes.First:]
		codes = codes[:min(len(codes), len(dst))]
		for i, code := range codes {
			dst[i] = Class(code) - 1 // NoClass of null
		}
		dst = dst[len(codes):]
	}
	return nil
}

// AddColumn adds a column of nulls; ErrExists when there is one of that name.
func (tx *Tx) AddColumn(name string, kind Kind) error {
	if err := cmp.Or(tx.writable(), checkColumn(name, kind)); err != nil {
		return err
	}
	if _, ok := tx.cat.Columns[name]; ok {
		return fmt.Errorf("column %s: %w", name, ErrExists)
	}
	c, g, err := tx.newEntry("column", name)
	if err != nil {
		return err
	}
	c.Columns[name] = column.Entry{Generation: g, Kind: kind}
	tx.touched.Of(columnTouched(name)).All = true
	return nil
}

// newEntry returns the catalogue, to be changed, and a generation for a new column, matrix or space.
func (tx *Tx) newEntry(what, name string) (*catalog, record.Generation, error) {
	if err := validateName(what, name); err != nil {
		return nil, 0, err
	}
	c, err := tx.change()
	if err != nil {
		return nil, 0, err
	}
	g, err := c.newGeneration()
	if err != nil {
		return nil, 0, fmt.Errorf("%s %s: %w", what, name, err)
	}
	return c, g, nil
}

// checkColumn checks the name and kind of a column to be written.
func checkColumn(name string, kind Kind) error {
	if err := validateName("column", name); err != nil {
		return err
	}
	if name == idColumn || name == degreeColumn {
		return fmt.Errorf("%w: column %s is built in", ErrInvalidName, name)
	}
	if !kind.IsColumn() {
		return fmt.Errorf("column %s: %w: %s is no kind of column", name, ErrInvalidValue, kind)
	}
	if name == LabelColumn && kind != KindClass {
		return fmt.Errorf("column %s: %w: got kind %s, want class", name, ErrInvalidValue, kind)
	}
	return nil
}

// SetIndexed marks a column as one whose changes go to Options.OnWrite, or takes the mark away.
func (tx *Tx) SetIndexed(column string, indexed bool) error {
	entry, err := tx.columnEntry(column)
	if err != nil {
		return err
	}
	if entry.Indexed == indexed {
		return tx.writable()
	}
	c, err := tx.change()
	if err != nil {
		return err
	}
	entry.Indexed = indexed
	c.Columns[column] = entry
	return nil
}

// SetLabel sets the given label of a node; "" unlabels it, and a new class is added to Classes.
func (tx *Tx) SetLabel(v NodeID, class string) error {
	return tx.SetValue(v, LabelColumn, ValueOf(class))
}

// SetValue sets one property of one node. An int fits a float column too; a class column takes the class's name, and
// adds a new one to Classes. It returns ErrNotFound, ErrNoColumn, ErrInvalidValue for a value of another kind, and
// ErrIndexed for an indexed column in a store opened without Options.OnWrite.
func (tx *Tx) SetValue(v NodeID, column string, value Value) error {
	if err := tx.writable(); err != nil {
		return err
	}
	if column == idColumn || column == degreeColumn {
		return fmt.Errorf("%w: column %s is built in", ErrInvalidName, column)
	}
	entry, err := tx.columnEntry(column)
	if err != nil {
		return err
	}
	before, err := tx.Value(v, column)
	if err != nil {
		return err
	}
	after, err := fit(entry.Kind, value)
	if err != nil {
		return fmt.Errorf("column %s: %w", column, err)
	}
	if after == before {
		return nil
	}
	if entry.Indexed && tx.s.opt.OnWrite == nil {
		return fmt.Errorf("column %s: %w", column, ErrIndexed)
	}
	if !entry.Deltas || tx.cat.isNewClass(entry.Kind, after) {
		c, err := tx.change()
		if err != nil {
			return err
		}
		entry.Deltas = true
		c.Columns[column] = entry
	}
	if err := tx.column(entry).Set(tx.records(), v, tx.cat.toCell(entry.Kind, after)); err != nil {
		return err
	}
	tx.touched.Of(columnTouched(column)).Add(v)
	if !entry.Indexed {
		return nil
	}
	return tx.fail(tx.s.opt.OnWrite(tx, v, column, before, after))
}

// toCell is a value that fits a column, as it is stored; a new class becomes one.
func (c *catalog) toCell(k Kind, value Value) Value {
	if k != KindClass || value.IsNull() {
		return value
	}
	return ValueOf(int64(c.class(value.Str())))
}

// sortedNames are the keys of a part of the catalogue, ascending.
func sortedNames[V any](entries map[string]V) []string {
	names := make([]string, 0, len(entries))
	for name := range entries {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
