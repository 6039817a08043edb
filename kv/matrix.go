package kv

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
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
	return &Matrix{tx, name, entry.Columns, entry.encoding()}, nil
}

func (tx *Tx) matrixEntry(name string) (matrixEntry, error) {
	if err := tx.Err(); err != nil {
		return matrixEntry{}, err
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
// NaN. Columns are stored in tiles of [Matrix.TileWidth]; reading along these reads no byte twice.
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
	blocks := (int(rows.End)-1)/int(entry.BlockRows) - int(rows.First)/int(entry.BlockRows) + 1
	tiles := (hi-1)/entry.tileWidth() - lo/entry.tileWidth() + 1
	err = m.tx.records().Fetch(record.Prefix(record.KindMatrix, entry.Generation), blocks*tiles, func(get snapshot.Getter) error {
		return m.read(get, entry, rows, lo, hi, codec.Window{Values: dst, Stride: hi - lo})
	})
	if err != nil {
		return fmt.Errorf("matrix %s: %w", m.name, err)
	}
	return nil
}

// TileWidth is the number of columns stored together.
func (m *Matrix) TileWidth() int {
	return m.encoding.TileWidth(m.encoding.BlockRows(len(m.columns)), len(m.columns))
}

// read goes tile by tile, each from the first row to the last, which is the order on disk.
func (m *Matrix) read(get snapshot.Getter, entry matrixEntry, rows Range, lo, hi int, dst codec.Window) error {
	height := int(entry.BlockRows)
	width := entry.tileWidth()
	stored := min(int(rows.End), int(entry.Rows))
	for left := lo / width * width; left < hi; left += width {
		columns := min(width, len(entry.Columns)-left)
		for row := int(rows.First); row < stored; {
			first := row / height * height
			end := min(first+height, stored)
			part := codec.TilePart{RowLo: row - first, RowHi: end - first, Lo: max(lo-left, 0), Hi: min(hi-left, columns)}
			at := codec.Window{Values: dst.Values[(row-int(rows.First))*dst.Stride+left+part.Lo-lo:], Stride: dst.Stride}
			key := matrixKey(entry.Generation, uint32(left/width), uint32(first/height))
			if err := readTile(get, key, min(height, int(entry.Rows)-first), columns, part, at); err != nil {
				return err
			}
			row = end
		}
	}
	for row := max(int(rows.First), stored); row < int(rows.End); row++ {
		codec.FillWith(dst.Row(row-int(rows.First), 0, hi-lo), float32(math.NaN()))
	}
	return m.readDeltas(entry, rows, lo, hi, dst)
}

func readTile(get snapshot.Getter, key []byte, rows, columns int, part codec.TilePart, dst codec.Window) error {
	err := get.Get(key, func(body []byte) error {
		if _, err := codec.DecodeTile(body, rows, columns, part, dst); err != nil {
			return fmt.Errorf("%s: %w", record.Describe(key), err)
		}
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return record.Corrupt(key, "it is missing")
	}
	return err
}

// readDeltas writes the changed rows over those of the blocks.
func (m *Matrix) readDeltas(entry matrixEntry, rows Range, lo, hi int, dst codec.Window) error {
	if !entry.Deltas {
		return nil
	}
	prefix := record.Prefix(record.KindRowDelta, entry.Generation)
	for r, err := range snapshot.ScanChains(m.tx.records(), prefix, record.PartKey(rowDeltaKey(entry.Generation, rows.First), 0)) {
		if err != nil {
			return err
		}
		v, err := record.NumberAt(r.Key, 0)
		if err != nil {
			return err
		}
		if NodeID(v) >= rows.End {
			return nil
		}
		at := codec.Window{Values: dst.Values[int(NodeID(v)-rows.First)*dst.Stride:], Stride: dst.Stride}
		if _, err := codec.DecodeTile(r.Body, 1, len(entry.Columns), codec.TilePart{RowLo: 0, RowHi: 1, Lo: lo, Hi: hi}, at); err != nil {
			return fmt.Errorf("%s: %w", record.Describe(r.Key), err)
		}
	}
	return nil
}

// CreateMatrix adds a matrix whose rows are all NaN, every cell kept; ErrExists when there is one of that name.
func (tx *Tx) CreateMatrix(name string, columns []string) error {
	if err := tx.writable(); err != nil {
		return err
	}
	if err := validateName("matrix", name); err != nil {
		return err
	}
	if _, ok := tx.cat.Matrices[name]; ok {
		return fmt.Errorf("matrix %s: %w", name, ErrExists)
	}
	c, err := tx.change()
	if err != nil {
		return err
	}
	g, err := c.newGeneration()
	if err != nil {
		return fmt.Errorf("matrix %s: %w", name, err)
	}
	c.Matrices[name] = matrixEntry{
		Generation: g,
		Columns:    slices.Clone(columns),
		BlockRows:  uint32(MatrixEncoding{}.BlockRows(len(columns))),
	}
	return nil
}

func (entry matrixEntry) encoding() MatrixEncoding {
	return MatrixEncoding{Half: entry.Half, Kept: int(entry.Kept)}
}

func (entry matrixEntry) tileWidth() int {
	return entry.encoding().TileWidth(int(entry.BlockRows), len(entry.Columns))
}

// conform rounds the cells of a row as the matrix keeps them, or says why it cannot.
func (entry matrixEntry) conform(row []float32) error {
	e, fill := entry.encoding(), float32(0)
	if e.Shares(len(row)) {
		var ok bool
		if fill, ok = e.Share(row); !ok {
			return fmt.Errorf("%w: more than %d cells differ from the others", ErrInvalidValue, e.Kept)
		}
	}
	e.Round(row, fill)
	return nil
}

// appendRow encodes one whole row to b, exactly.
func appendRow(b []byte, row []float32) []byte {
	return MatrixEncoding{}.AppendTile(b, codec.Window{Values: row, Stride: len(row)}, []bool{true}, nil, 0, len(row))
}

// DropMatrix removes a matrix; ErrNotFound when there is none of that name.
func (tx *Tx) DropMatrix(name string) error {
	if _, err := tx.matrixEntry(name); err != nil {
		return err
	}
	c, err := tx.change()
	if err != nil {
		return err
	}
	delete(c.Matrices, name)
	tx.dropped = true
	return nil
}

// SetRow sets one row of a matrix, whose length must be its width; cells are rounded as its encoding says. A row that
// differs from one value in more cells than the encoding keeps is an ErrInvalidValue.
func (tx *Tx) SetRow(matrix string, v NodeID, row []float32) error {
	if err := tx.checkNode(v); err != nil {
		return err
	}
	entry, err := tx.matrixEntry(matrix)
	if err != nil {
		return err
	}
	if len(row) != len(entry.Columns) {
		return fmt.Errorf("matrix %s, node number %d: %w: a row of %d, want %d", matrix, v, ErrShape, len(row), len(entry.Columns))
	}
	row = slices.Clone(row)
	if err := entry.conform(row); err != nil {
		return fmt.Errorf("matrix %s, node number %d: %w", matrix, v, err)
	}
	if !entry.Deltas {
		c, err := tx.change()
		if err != nil {
			return err
		}
		entry.Deltas = true
		c.Matrices[matrix] = entry
	}
	body := appendRow(nil, row)
	return snapshot.PutChain(tx.records(), rowDeltaKey(entry.Generation, v), body)
}

func matrixKey(g record.Generation, tile, block uint32) []byte {
	return record.PairKey(record.KindMatrix, g, tile, block)
}

func rowDeltaKey(g record.Generation, v NodeID) []byte {
	return record.NumberKey(record.KindRowDelta, g, uint32(v))
} // + part
