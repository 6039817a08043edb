package kv

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/matrix"
)

// A Matrix is a stored [n×c] matrix with named columns, read as float32. It is safe for concurrent use, as its Tx is.
type Matrix struct {
	tx       *Tx
	name     string
	columns  []string
	encoding MatrixEncoding
}

// Matrix returns a stored matrix; ErrNotFound when there is none of that name.
func (tx *Tx) Matrix(name string) (*Matrix, error) {
	entry, err := tx.matrixEntry(name)
	if err != nil {
		return nil, err
	}
	return &Matrix{tx, name, entry.Columns, entry.Encoding()}, nil
}

// matrix is a matrix of the transaction.
func (tx *Tx) matrix(entry matrix.Entry) matrix.Matrix {
	return matrix.Matrix{Entry: entry, Records: tx.records()}
}

func (tx *Tx) matrixEntry(name string) (matrix.Entry, error) {
	if err := tx.Err(); err != nil {
		return matrix.Entry{}, err
	}
	entry, ok := tx.cat.Matrices[name]
	if !ok {
		return entry, fmt.Errorf("matrix %s: %w", name, ErrNotFound)
	}
	return entry, nil
}

// Matrices lists the names of the stored matrices, ascending.
func (tx *Tx) Matrices() []string { return sortedNames(tx.cat.Matrices) }

// Columns are the names of the columns, which the caller must not change.
func (m *Matrix) Columns() []string { return m.columns }

// Width is the number of columns, c.
func (m *Matrix) Width() int { return len(m.columns) }

// Encoding says how the matrix is stored.
func (m *Matrix) Encoding() MatrixEncoding { return m.encoding }

// Read fills dst, row-major [(rows.End-rows.First)×(hi-lo)], with columns lo ≤ j < hi. A row that was never written is
// NaN. Columns are stored in tiles: a read of all columns of a tile reads no byte twice.
func (m *Matrix) Read(rows Range, lo, hi int, dst []float32) error {
	entry, err := m.tx.matrixEntry(m.name)
	if err != nil {
		return err
	}
	if lo < 0 || hi < lo || hi > len(entry.Columns) || rows.End < rows.First || int(rows.End) > m.tx.cat.Nodes ||
		len(dst) != int(rows.End-rows.First)*(hi-lo) {
		return fmt.Errorf("matrix %s: %w: rows %d to %d and columns %d to %d of %d×%d into %d floats", m.name, ErrShape,
			rows.First, rows.End, lo, hi, m.tx.cat.Nodes, len(entry.Columns), len(dst))
	}
	if len(dst) == 0 {
		return nil
	}
	window := codec.Window{Values: dst, Stride: hi - lo}
	if err := m.tx.matrix(entry).Read(rows, lo, hi, window); err != nil {
		return fmt.Errorf("matrix %s: %w", m.name, err)
	}
	return nil
}

// CreateMatrix adds a matrix whose rows are all NaN, every cell kept; ErrExists when there is one of that name.
func (tx *Tx) CreateMatrix(name string, columns []string) error {
	if err := tx.writable(); err != nil {
		return err
	}
	if _, ok := tx.cat.Matrices[name]; ok {
		return fmt.Errorf("matrix %s: %w", name, ErrExists)
	}
	c, g, err := tx.newEntry("matrix", name)
	if err != nil {
		return err
	}
	c.Matrices[name] = matrix.Entry{
		Generation: g,
		Columns:    slices.Clone(columns),
		BlockRows:  uint32(MatrixEncoding{}.BlockRows(len(columns))),
	}
	tx.touched.Of(matrixTouched(name)).All = true
	return nil
}

// Drop removes the matrix.
func (m *Matrix) Drop() error {
	c, err := m.tx.change()
	if err != nil {
		return err
	}
	delete(c.Matrices, m.name)
	m.tx.touched.Of(matrixTouched(m.name)).All = true
	return nil
}

// SetRow sets one row of a matrix, whose length must be its width; cells are rounded as its encoding says. The
// encoding may keep a limited number of cells that differ from the common value of the row. SetRow returns
// ErrInvalidValue for a row with more such cells.
func (tx *Tx) SetRow(name string, v NodeID, row []float32) error {
	entry, err := tx.rowEntry(name, v, row)
	if err != nil {
		return err
	}
	row = slices.Clone(row)
	if err := entry.Conform(row); err != nil {
		return fmt.Errorf("matrix %s, node number %d: %w", name, v, err)
	}
	return tx.putRow(name, v, row)
}

// rowEntry returns the entry of a matrix that a row of a node fits into.
func (tx *Tx) rowEntry(name string, v NodeID, row []float32) (matrix.Entry, error) {
	entry, err := tx.matrixEntry(name)
	if err = cmp.Or(tx.checkNode(v), err); err == nil && len(row) != len(entry.Columns) {
		err = fmt.Errorf("matrix %s, node number %d: %w: a row of %d, want %d", name, v, ErrShape, len(row),
			len(entry.Columns))
	}
	return entry, err
}

// TouchRow counts the row of a node as changed, as it is: something else that the transaction writes, which is not
// tracked, goes by the row. In a transaction that writes nothing it does nothing.
func (tx *Tx) TouchRow(name string, v NodeID) error {
	if err := tx.writable(); err != nil {
		return err
	}
	if _, err := tx.matrixEntry(name); err != nil {
		return err
	}
	if err := tx.checkNode(v); err != nil {
		return err
	}
	tx.touched.Of(matrixTouched(name)).Add(v)
	return nil
}
