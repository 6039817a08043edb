package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// maxTileCells is the number of cells of one tile record: 64 KiB of float32.
const maxTileCells = 16 << 10

// maxBlockBytes bounds what a row block, which is buffered whole while it is written, takes in memory.
const maxBlockBytes = 4 << 20

// BlockRows is the number of rows of the blocks of a matrix: 1024, fewer if that many wide rows would not be buffered.
// It depends on the width alone, so that the bytes on disk depend on the data alone.
func BlockRows(width int) int {
	rows := 1024
	for rows > 1 && rows*width*4 > maxBlockBytes {
		rows /= 2
	}
	return rows
}

// TileWidth is the number of columns of a tile of so many rows.
func TileWidth(rows int) int { return maxTileCells / rows }

// indexWidth is the number of bytes of a column's number within a tile.
func indexWidth(columns int) int { return max(1, byteWidth(uint64(max(columns, 1)-1))) }

// A tile begins with a byte that says how it is encoded. A dense one is
//
//	form     byte               0
//	values   rows×columns×4     float32, little-endian, row by row
//
// In a sparse one the other cells of a row are +0:
//
//	form     byte               1; + 0x20 when there is one value
//	counts   rows uvarints      values of each row; columns+1 of one that is all NaN, as if it was never written
//	indices  1 to 4 bytes each: as many as columns-1 needs, and at least 1
//	values   4 bytes each, or one for all with 0x20
//
// The smaller of both is used.
const (
	tileSparse   = 0x01
	tileConstant = 0x20
)

// A Window is a rectangle of float32 in memory, row-major with a stride.
type Window struct {
	Values []float32
	Stride int
}

// Row returns cells lo ≤ j < hi of row i.
func (w Window) Row(i, lo, hi int) []float32 { return w.Values[i*w.Stride+lo : i*w.Stride+hi] }

// FillWith sets all values to one.
func FillWith(values []float32, x float32) {
	for i := range values {
		values[i] = x
	}
}

// AppendTile encodes columns lo ≤ j < hi of the first rows of a window to b.
func AppendTile(b []byte, w Window, rows, lo, hi int) []byte {
	count, one, first := 0, byte(tileConstant), uint32(0)
	for i := range rows {
		eachValue(w.Row(i, lo, hi), func(_ int, x float32) {
			if count++; count == 1 {
				first = math.Float32bits(x)
			} else if math.Float32bits(x) != first {
				one = 0
			}
		})
	}
	width, bytes := indexWidth(hi-lo), 4*count
	if one != 0 {
		bytes = min(bytes, 4)
	}
	if 2*rows+width*count+bytes >= 4*rows*(hi-lo) { // counts take one or two bytes
		return appendDense(b, w, rows, lo, hi)
	}
	if count == 0 {
		one = 0
	}
	b = append(b, tileSparse|one)
	var counts []byte
	indices, values := make([]byte, 0, width*count), make([]byte, 0, 4*count)
	for i := range rows {
		row, before := w.Row(i, lo, hi), len(indices)
		written := eachValue(row, func(j int, x float32) {
			indices, values = appendWidth(indices, uint64(j), width), AppendFloat32(values, x)
		})
		if !written {
			counts = binary.AppendUvarint(counts, uint64(len(row)+1))
		} else {
			counts = binary.AppendUvarint(counts, uint64((len(indices)-before)/width))
		}
	}
	return append(append(append(b, counts...), indices...), values[:bytes]...)
}

// eachValue calls use with each cell of a row that is not +0. It returns false of a row of NaN alone, that of a node
// that has none.
func eachValue(row []float32, use func(j int, x float32)) (written bool) {
	if !slices.ContainsFunc(row, func(x float32) bool { return x == x }) {
		return false
	}
	for j, x := range row {
		if math.Float32bits(x) != 0 {
			use(j, x)
		}
	}
	return true
}

func appendDense(b []byte, w Window, rows, lo, hi int) []byte {
	b = append(b, 0)
	for i := range rows {
		for _, x := range w.Row(i, lo, hi) {
			b = AppendFloat32(b, x)
		}
	}
	return b
}

// A TilePart says which rows and columns of a tile are wanted.
type TilePart struct{ RowLo, RowHi, Lo, Hi int }

// DecodeTile writes a part of a tile of the given size to the rows of dst from 0 and the columns from 0.
func DecodeTile(b []byte, rows, columns int, part TilePart, dst Window) error {
	t, err := NewTile(b, rows, columns)
	if err != nil {
		return err
	}
	return t.Read(part, dst)
}

// A Tile is an encoded tile whose parts are read again and again.
type Tile struct {
	columns int
	values  []byte

	// Of a sparse tile.
	fills   []float32 // of each row: NaN if it was never written, else 0
	begins  []uint32  // of each row, its place among the indices; and their end
	indices uints     // of the columns that differ from the fill of their row
	one     bool      // there is one value for all
}

var errDamagedTile = fmt.Errorf("%w: a damaged tile", record.ErrCorrupt)

// NewTile finds the rows in a tile of the given size, which borrows b.
func NewTile(b []byte, rows, columns int) (*Tile, error) {
	r, t, count := Reader{Rest: b}, &Tile{columns: columns}, rows*columns
	form := r.byte()
	if form&tileSparse != 0 {
		count = t.parseRows(&r, rows)
		if t.one = form&tileConstant != 0; t.one {
			count = 1
		}
	}
	t.values = r.Bytes(4 * count)
	if r.Failed || len(r.Rest) > 0 || form&^(tileSparse|tileConstant) != 0 {
		return nil, errDamagedTile
	}
	return t, nil
}

// parseRows finds the values of the rows of a sparse tile, and returns their number.
func (t *Tile) parseRows(r *Reader, rows int) (count int) {
	t.fills, t.begins = make([]float32, rows), make([]uint32, rows+1)
	for i := range rows {
		n := int(r.Uvarint(uint64(t.columns) + 1))
		if n > t.columns {
			t.fills[i], n = float32(math.NaN()), 0
		}
		count += n
		t.begins[i+1] = uint32(count)
	}
	width := indexWidth(t.columns)
	t.indices = uints{r.Bytes(count * width), width}
	return count
}

// Size is the memory of a tile beside its bytes.
func (t *Tile) Size() int64 { return int64(unsafe.Sizeof(*t)) + int64(cap(t.begins)+cap(t.fills))*4 }

// Read writes a part of the tile to the rows of dst from 0 and the columns from 0. Of a sparse tile it looks at the
// indices of these rows only: whoever reads a few rows does not pay for the tile.
func (t *Tile) Read(part TilePart, dst Window) error {
	for i := part.RowLo; i < part.RowHi; i++ {
		to := dst.Row(i-part.RowLo, 0, part.Hi-part.Lo)
		if t.begins == nil {
			t.readValues(i*t.columns+part.Lo, to)
			continue
		}
		FillWith(to, t.fills[i])
		for k := int(t.begins[i]); k < int(t.begins[i+1]); k++ {
			j := int(t.indices.At(k))
			if j >= t.columns {
				return errDamagedTile
			}
			if j >= part.Lo && j < part.Hi {
				t.readValues(k, to[j-part.Lo:][:1])
			}
		}
	}
	return nil
}

// readValues reads values from the k-th on.
func (t *Tile) readValues(k int, to []float32) {
	if t.one {
		k = 0
	}
	from := t.values[4*k:]
	for j := range to {
		to[j] = math.Float32frombits(binary.LittleEndian.Uint32(from[4*j:]))
	}
}
