// Package matrix reads the rows of a matrix of numbers: tiles of them, and rows that changed since they were written. It
// knows nothing of the names of matrices.
package matrix

import (
	"errors"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// An Entry is a matrix [Rows×len(Columns)] in the catalogue, in blocks of BlockRows rows, with row deltas when Deltas.
type Entry struct {
	Generation record.Generation `msgpack:"generation"`
	Columns    []string          `msgpack:"columns"`
	Rows       uint32            `msgpack:"rows"`
	BlockRows  uint32            `msgpack:"block_rows"`
	Deltas     bool              `msgpack:"deltas"`
	Half       bool              `msgpack:"half"` // of codec.MatrixEncoding
	Kept       uint32            `msgpack:"kept"` // of codec.MatrixEncoding
	Sum        record.Sum        `msgpack:"sum,omitempty"`
}

// A Matrix is a matrix of a snapshot.
type Matrix struct {
	Entry
	Records snapshot.Reader
}

// Read fills dst with columns lo ≤ j < hi of rows. A row that was never written is NaN.
func (m Matrix) Read(rows record.Range, lo, hi int, dst codec.Window) error {
	blocks := (int(rows.End)-1)/int(m.BlockRows) - int(rows.First)/int(m.BlockRows) + 1
	tiles := (hi-1)/m.TileWidth() - lo/m.TileWidth() + 1
	err := m.Records.Fetch(record.Prefix(record.KindMatrix, m.Generation), blocks*tiles, func(get snapshot.Getter) error {
		return m.readBlocks(get, rows, lo, hi, dst)
	})
	if err != nil {
		return err
	}
	return m.readDeltas(rows, lo, hi, dst)
}

// readBlocks goes tile by tile, each from the first row to the last, which is the order on disk.
func (m Matrix) readBlocks(get snapshot.Getter, rows record.Range, lo, hi int, dst codec.Window) error {
	height := int(m.BlockRows)
	width := m.TileWidth()
	limit := min(int(rows.End), int(m.Rows))
	for column := lo / width * width; column < hi; column += width {
		columns := min(width, len(m.Columns)-column)
		for row := int(rows.First); row < limit; {
			first := row / height * height
			end := min(first+height, limit)
			part := codec.TilePart{RowLo: row - first, RowHi: end - first, Lo: max(lo-column, 0), Hi: min(hi-column, columns)}
			at := codec.Window{Values: dst.Values[(row-int(rows.First))*dst.Stride+column+part.Lo-lo:], Stride: dst.Stride}
			key := Key(m.Generation, uint32(column/width), uint32(first/height))
			if err := readTile(get, key, min(height, int(m.Rows)-first), columns, part, at); err != nil {
				return err
			}
			row = end
		}
	}
	for row := max(int(rows.First), limit); row < int(rows.End); row++ {
		codec.FillWith(dst.Row(row-int(rows.First), 0, hi-lo), float32(math.NaN()))
	}
	return nil
}

func readTile(get snapshot.Getter, key []byte, rows, columns int, part codec.TilePart, dst codec.Window) error {
	err := get.Get(key, func(body []byte) error {
		if _, err := codec.DecodeTile(body, rows, columns, part, dst); err != nil {
			return fmt.Errorf("%s: %w", record.Describe(key), err)
		}
		return nil
	})
	if errors.Is(err, record.ErrNotFound) {
		return record.Corrupt(key, "it is missing")
	}
	return err
}

// readDeltas writes the changed rows over those of the blocks.
func (m Matrix) readDeltas(rows record.Range, lo, hi int, dst codec.Window) error {
	if !m.Deltas {
		return nil
	}
	prefix := record.Prefix(record.KindRowDelta, m.Generation)
	for r, err := range snapshot.ScanChains(m.Records, prefix, record.PartKey(DeltaKey(m.Generation, rows.First), 0)) {
		if err != nil {
			return err
		}
		v, err := record.NumberAt(r.Key, 0)
		if err != nil {
			return err
		}
		if record.NodeID(v) >= rows.End {
			return nil
		}
		at := codec.Window{Values: dst.Values[int(record.NodeID(v)-rows.First)*dst.Stride:], Stride: dst.Stride}
		if _, err := codec.DecodeTile(r.Body, 1, len(m.Columns), codec.TilePart{RowLo: 0, RowHi: 1, Lo: lo, Hi: hi}, at); err != nil {
			return fmt.Errorf("%s: %w", record.Describe(r.Key), err)
		}
	}
	return nil
}

// Encoding says how cells are kept.
func (e Entry) Encoding() codec.MatrixEncoding {
	return codec.MatrixEncoding{Half: e.Half, Kept: int(e.Kept)}
}

// TileWidth is the number of columns stored together.
func (e Entry) TileWidth() int {
	return e.Encoding().TileWidth(int(e.BlockRows), len(e.Columns))
}

// Conform rounds the cells of a row as the matrix keeps them, or says why it cannot.
func (e Entry) Conform(row []float32) error {
	encoding, fill := e.Encoding(), float32(0)
	if encoding.Shares(len(row)) {
		var ok bool
		if fill, ok = encoding.Share(row); !ok {
			return fmt.Errorf("%w: more than %d cells differ from the others", record.ErrInvalidValue, e.Kept)
		}
	}
	encoding.Round(row, fill)
	return nil
}

// AppendRow encodes one whole row to b, exactly.
func AppendRow(b []byte, row []float32) []byte {
	return codec.MatrixEncoding{}.AppendTile(b, codec.Window{Values: row, Stride: len(row)}, []bool{true}, nil, 0, len(row))
}

// Key is the key of a tile of a block.
func Key(g record.Generation, tile, block uint32) []byte {
	return record.PairKey(record.KindMatrix, g, tile, block)
}

// DeltaKey is the key of a changed row, a chain.
func DeltaKey(g record.Generation, v record.NodeID) []byte {
	return record.NumberKey(record.KindRowDelta, g, uint32(v))
}
