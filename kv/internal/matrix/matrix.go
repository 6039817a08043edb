// Package matrix reads the rows of a matrix of numbers: tiles of them, and rows that changed since they were written.
// It knows nothing of the names of matrices.
package matrix

import (
	"bytes"
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

// Fewer rows than this share of a block, as a divisor, are read from tiles that are kept in memory, and no more changed
// rows than these are looked up one by one.
const (
	fewRows    = 8
	fewChanges = 8
)

// Read fills dst with columns lo ≤ j < hi of rows. A row that was never written is NaN.
func (m Matrix) Read(rows record.Range, lo, hi int, dst codec.Window) error {
	if rows.Len() == 1 && m.Deltas {
		if changed, err := m.readDelta(rows, rows.First, lo, hi, dst); changed || err != nil {
			return err // also if the block is damaged
		}
		m.Deltas = false
	}
	if err := m.readBlocks(rows, lo, hi, dst); err != nil {
		return err
	}
	return m.readDeltas(rows, lo, hi, dst)
}

// readBlocks is Read without what changed since.
func (m Matrix) readBlocks(rows record.Range, lo, hi int, dst codec.Window) error {
	if rows.Len()*fewRows < int(m.BlockRows) {
		return m.eachTile(rows, lo, hi, dst, m.lookupTile)
	}
	blocks := (int(rows.End)-1)/int(m.BlockRows) - int(rows.First)/int(m.BlockRows) + 1
	tiles := (hi-1)/m.TileWidth() - lo/m.TileWidth() + 1
	return m.Records.Fetch(record.Prefix(record.KindMatrix, m.Generation), blocks*tiles, func(get snapshot.Getter) error {
		return m.eachTile(rows, lo, hi, dst, func(t tilePlace, part codec.TilePart, at codec.Window) error {
			return readTile(get, t, part, at)
		})
	})
}

// A tilePlace says which tile is meant, and how large it is.
type tilePlace struct {
	name          snapshot.Name
	rows, columns int
}

// eachTile goes tile by tile, each from the first row to the last, which is the order on disk.
func (m Matrix) eachTile(
	rows record.Range, lo, hi int, dst codec.Window, read func(t tilePlace, part codec.TilePart, at codec.Window) error,
) error {
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
			name := snapshot.Name{Kind: record.KindMatrix, Generation: m.Generation, A: uint32(column / width),
				B: uint32(first / height)}
			if err := read(tilePlace{name, min(height, int(m.Rows)-first), columns}, part, at); err != nil {
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

func readTile(get snapshot.Getter, t tilePlace, part codec.TilePart, dst codec.Window) error {
	key := t.name.Key()
	err := get.Get(key, func(body []byte) error {
		err := codec.DecodeTile(body, t.rows, t.columns, part, dst)
		return describe(key, err)
	})
	if errors.Is(err, record.ErrNotFound) {
		return record.Corrupt(key, "it is missing")
	}
	return err
}

// describe says of a damaged record what it is.
func describe(key []byte, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", record.Describe(key), err)
}

// lookupTile is readTile of a tile that is kept in memory for the next lookup.
func (m Matrix) lookupTile(t tilePlace, part codec.TilePart, dst codec.Window) error {
	entry := m.Records.Cache().Get(t.name)
	if entry == nil {
		var err error
		if entry, err = m.loadTile(t); err != nil {
			return err
		}
	}
	if err := entry.Value.(*codec.Tile).Read(part, dst); err != nil {
		return describe(t.name.Key(), err)
	}
	return nil
}

// loadTile reads a tile from the disk.
func (m Matrix) loadTile(t tilePlace) (*snapshot.Entry, error) {
	entry, key := &snapshot.Entry{Name: t.name}, t.name.Key()
	err := snapshot.Need(snapshot.InPlace(m.Records), key, func(body []byte) error {
		body = bytes.Clone(body)
		tile, err := codec.NewTile(body, t.rows, t.columns)
		if err != nil {
			return describe(key, err)
		}
		entry.Body, entry.Value, entry.ValueSize = body, tile, tile.Size()
		return nil
	})
	if err != nil {
		return nil, err
	}
	m.Records.Cache().Add(entry)
	return entry, nil
}

// readDeltas writes the changed rows over those of the blocks.
func (m Matrix) readDeltas(rows record.Range, lo, hi int, dst codec.Window) error {
	if !m.Deltas {
		return nil
	}
	if rows.Len() <= fewChanges {
		for v := rows.First; v < rows.End; v++ {
			if _, err := m.readDelta(rows, v, lo, hi, dst); err != nil {
				return err
			}
		}
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
		if err := m.decodeDelta(r, rows, record.NodeID(v), lo, hi, dst); err != nil {
			return err
		}
	}
	return nil
}

// readDelta writes the row of a node to that of rows if it has changed.
func (m Matrix) readDelta(rows record.Range, v record.NodeID, lo, hi int, dst codec.Window) (changed bool, err error) {
	key := DeltaKey(m.Generation, v)
	err = snapshot.Chain(m.Records, key, func(body []byte) error {
		changed = true
		return m.decodeDelta(record.Record{Key: key, Body: body}, rows, v, lo, hi, dst)
	})
	if !changed && errors.Is(err, record.ErrNotFound) {
		return false, nil
	}
	return changed, err
}

// decodeDelta writes the changed row of a node to that of rows.
func (m Matrix) decodeDelta(r record.Record, rows record.Range, v record.NodeID, lo, hi int, dst codec.Window) error {
	at := codec.Window{Values: dst.Values[int(v-rows.First)*dst.Stride:], Stride: dst.Stride}
	err := codec.DecodeTile(r.Body, 1, len(m.Columns), codec.TilePart{RowLo: 0, RowHi: 1, Lo: lo, Hi: hi}, at)
	return describe(r.Key, err)
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
	return codec.MatrixEncoding{}.AppendTile(b, codec.Window{Values: row, Stride: len(row)}, []bool{true}, nil, 0,
		len(row))
}

// ReadRow is the inverse of AppendRow.
func ReadRow(b []byte, row []float32) error {
	whole := codec.TilePart{RowHi: 1, Hi: len(row)}
	return codec.DecodeTile(b, 1, len(row), whole, codec.Window{Values: row, Stride: len(row)})
}

// Key is the key of a tile of a block.
func Key(g record.Generation, tile, block uint32) []byte {
	return record.PairKey(record.KindMatrix, g, tile, block)
}

// DeltaKey is the key of a changed row, a chain.
func DeltaKey(g record.Generation, v record.NodeID) []byte {
	return record.NumberKey(record.KindRowDelta, g, uint32(v))
}
