package kv

import (
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/column"
)

// AddColumn adds a column of nulls; ErrExists when there is one of that name.
func (tx *Tx) AddColumn(name string, kind Kind) error {
	if err := tx.writable(); err != nil {
		return err
	}
	if err := checkColumn(name, kind); err != nil {
		return err
	}
	if _, ok := tx.cat.Columns[name]; ok {
		return fmt.Errorf("column %s: %w", name, ErrExists)
	}
	c, err := tx.change()
	if err != nil {
		return err
	}
	g, err := c.newGeneration()
	if err != nil {
		return fmt.Errorf("column %s: %w", name, err)
	}
	c.Columns[name] = column.Entry{Generation: g, Kind: kind}
	tx.touched.addAll(columnTouched(name))
	return nil
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

// DropColumn removes a column with its values; ErrNoColumn when there is none. The label column stays.
func (tx *Tx) DropColumn(name string) error {
	if err := tx.writable(); err != nil {
		return err
	}
	if name == LabelColumn {
		return fmt.Errorf("%w: column %s cannot be dropped", ErrInvalidName, name)
	}
	if _, err := tx.columnEntry(name); err != nil {
		return err
	}
	c, err := tx.change()
	if err != nil {
		return err
	}
	delete(c.Columns, name)
	tx.touched.addAll(columnTouched(name))
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
	return tx.SetValue(v, LabelColumn, StringValue(class))
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
	tx.touched.add(columnTouched(column), v)
	if !entry.Indexed {
		return nil
	}
	return tx.fail(tx.s.opt.OnWrite(tx, Write{v, column, before, after}))
}

// toCell is a value that fits a column, as it is stored; a new class becomes one.
func (c *catalog) toCell(k Kind, value Value) Value {
	if k != KindClass || value.IsNull() {
		return value
	}
	return IntValue(int64(c.class(value.Str())))
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
