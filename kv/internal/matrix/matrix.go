// Package matrix reads the rows of a matrix of numbers: tiles of them, and rows that changed since they were written.
// It knows nothing of the names of matrices.
package matrix

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// An Entry is a matrix [Rows×len(Columns)] in the catalogue, with row deltas when Deltas.
type Entry struct {
	Generation record.Generation `msgpack:"generation"`
	Columns    []string          `msgpack:"columns"`
	Rows       uint32            `msgpack:"rows"`
	Deltas     bool              `msgpack:"deltas"`
	Sum        record.Sum        `msgpack:"sum,omitempty"`
}

// A Matrix is a matrix of a snapshot.
type Matrix struct {
	Entry
	Records snapshot.Reader
}

// Fewer rows than this share of a block, as a divisor, are read from tiles that are kept in memory.
const fewRows = 8

// Read fills dst with columns lo ≤ j < hi of rows. A row that was never written is NaN.
func (m Matrix) Read(rows record.Range, lo, hi int, dst codec.Window) error {
	if rows.Len() == 1 && m.Deltas {
		key := DeltaKey(m.Generation, rows.First)
		err := snapshot.Chain(m.Records, key, func(body []byte) error {
			return m.decodeDelta(record.Record{Key: key, Body: body}, lo, hi, dst)
		})
		if !errors.Is(err, record.ErrNotFound) {
			return err // also if the block is damaged
		}
		m.Deltas = false
	}
	keep := rows.Len()*fewRows < m.BlockRows()
	if err := m.readTiles(keep, rows, lo, hi, dst); err != nil {
		return err
	}
	return m.readDeltas(rows, lo, hi, dst)
}

// readTiles is Read without what changed since. It goes block by block, each from the first tile to the last, which is
// the order on disk.
func (m Matrix) readTiles(keep bool, rows record.Range, lo, hi int, dst codec.Window) error {
	height, width := m.BlockRows(), m.TileWidth()
	limit := min(int(rows.End), int(m.Rows))
	for row := int(rows.First); row < limit; {
		first := row / height * height
		end := min(first+height, limit)
		for column := lo / width * width; column < hi; column += width {
			part := codec.TilePart{RowLo: row - first, RowHi: end - first, Lo: max(lo-column, 0), Hi: min(hi-column, width)}
			at := codec.Window{Values: dst.Values[(row-int(rows.First))*dst.Stride+column+part.Lo-lo:], Stride: dst.Stride}
			if err := m.readTile(keep, uint32(first/height), uint32(column/width), part, at); err != nil {
				return err
			}
		}
		row = end
	}
	for row := max(int(rows.First), limit); row < int(rows.End); row++ {
		codec.FillWith(dst.Row(row-int(rows.First), 0, hi-lo), float32(math.NaN()))
	}
	return nil
}

// readTile reads a part of a tile, and keeps the tile in memory if that is asked for.
func (m Matrix) readTile(keep bool, block, tile uint32, part codec.TilePart, dst codec.Window) error {
	name := snapshot.Name{Kind: record.KindMatrix, Generation: m.Generation, A: block, B: tile}
	key := name.Key()
	if keep {
		if entry := m.Records.Cache().Get(name); entry != nil {
			return describe(key, entry.Value.(*codec.Tile).Read(part, dst))
		}
	}
	return snapshot.Need(m.Records, key, func(body []byte) error {
		if keep {
			body = bytes.Clone(body)
		}
		height := uint32(m.BlockRows())
		rows := min(height, m.Rows-block*height)
		columns := min(m.TileWidth(), len(m.Columns)-int(tile)*m.TileWidth())
		t, err := codec.NewTile(body, int(rows), columns)
		if err != nil {
			return describe(key, err)
		}
		if keep {
			m.Records.Cache().Add(&snapshot.Entry{Name: name, Body: body, Value: t, ValueSize: t.Size()})
		}
		return describe(key, t.Read(part, dst))
	})
}

// describe says of a damaged record what it is.
func describe(key []byte, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", record.Describe(key), err)
}

// readDeltas writes the changed rows over those of the blocks.
func (m Matrix) readDeltas(rows record.Range, lo, hi int, dst codec.Window) error {
	if !m.Deltas {
		return nil
	}
	chains := func(prefix, from []byte) iter.Seq2[record.Record, error] {
		return snapshot.ScanChains(m.Records, prefix, from)
	}
	return snapshot.EachNode(chains, record.KindRowDelta, m.Generation, rows,
		func(v record.NodeID, r record.Record) error {
			at := codec.Window{Values: dst.Values[int(v-rows.First)*dst.Stride:], Stride: dst.Stride}
			return m.decodeDelta(r, lo, hi, at)
		})
}

// decodeDelta reads a part of a changed row.
func (m Matrix) decodeDelta(r record.Record, lo, hi int, dst codec.Window) error {
	part := codec.TilePart{RowHi: 1, Lo: lo, Hi: hi}
	return describe(r.Key, codec.DecodeTile(r.Body, 1, len(m.Columns), part, dst))
}

// BlockRows is the number of rows stored together.
func (e Entry) BlockRows() int { return codec.BlockRows(len(e.Columns)) }

// TileWidth is the number of columns stored together.
func (e Entry) TileWidth() int { return codec.TileWidth(e.BlockRows()) }

// CheckWidth says that a row is too short or too long.
func (e Entry) CheckWidth(row []float32) error {
	if len(row) != len(e.Columns) {
		return fmt.Errorf("%w: a row of %d, want %d", snapshot.ErrShape, len(row), len(e.Columns))
	}
	return nil
}

// AppendRow encodes one whole row to b.
func AppendRow(b []byte, row []float32) []byte {
	return codec.AppendTile(b, codec.Window{Values: row, Stride: len(row)}, 1, 0, len(row))
}

// ReadRow is the inverse of AppendRow.
func ReadRow(b []byte, row []float32) error {
	whole := codec.TilePart{RowHi: 1, Hi: len(row)}
	return codec.DecodeTile(b, 1, len(row), whole, codec.Window{Values: row, Stride: len(row)})
}

// Key is the key of a tile of a block.
func Key(g record.Generation, block, tile uint32) []byte {
	return record.PairKey(record.KindMatrix, g, block, tile)
}

// DeltaKey is the key of a changed row, a chain.
func DeltaKey(g record.Generation, v record.NodeID) []byte {
	return record.NumberKey(record.KindRowDelta, g, uint32(v))
}
