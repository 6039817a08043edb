package codec

import (
	"math"

	"github.com/graphcleaner/graphcleaner/internal/float16"
)

// maxTileCells is the number of cells of one tile record: 64 KiB of float32.
const maxTileCells = 16 << 10

// MaxTileBytes bounds the record of a tile of rows that share a value.
const MaxTileBytes = 64 << 10

// maxBlockBytes bounds what a row block, which is buffered whole while it is written, takes in memory.
const maxBlockBytes = 4 << 20

// A MatrixEncoding is described in kv. With Half the common value of a row is a float32 all the same.
type MatrixEncoding struct {
	Half bool
	Kept int
}

// maxKept is the most cells of a row that are stored one by one: more of them would not fit a record.
const maxKept = 4096

// Shares reports whether Kept has an effect on a matrix of a width.
func (e MatrixEncoding) Shares(width int) bool {
	return e.Kept > 0 && e.Kept <= maxKept && 2*e.Kept < width
}

// BlockRows is the number of rows of the blocks of a matrix: 1024, fewer if that many wide rows would not be
// buffered, or not fit a record. It depends on width and encoding alone, so that the bytes on disk depend on the data
// alone.
func (e MatrixEncoding) BlockRows(width int) int {
	rows := 1024
	for rows > 1 && (rows*width*4 > maxBlockBytes || e.Shares(width) && rows*e.sharedRowBytes(width) > MaxTileBytes) {
		rows /= 2
	}
	return rows
}

// sharedRowBytes is the most that a row whose cells share a value takes in a tile.
func (e MatrixEncoding) sharedRowBytes(width int) int {
	const fill, count = 4, 2
	return fill + count + e.Kept*(indexWidth(width)+e.valueBytes())
}

func (e MatrixEncoding) valueBytes() int {
	if e.Half {
		return 2
	}
	return 4
}

// TileWidth is the number of columns of a tile of so many rows, for a matrix of a width. Rows that share a value are
// not cut, since that value would be in each piece.
func (e MatrixEncoding) TileWidth(rows, width int) int {
	if e.Shares(width) {
		return width
	}
	return maxTileCells / rows
}

// indexWidth is the number of bytes of a column's number within a tile.
func indexWidth(columns int) int { return max(1, byteWidth(uint64(max(columns, 1)-1))) }

// Conform makes the cells of a row what the encoding keeps of them. It is false of a row that the encoding cannot keep.
func (e MatrixEncoding) Conform(row []float32) bool {
	fill, others := e.fill(row)
	if e.Shares(len(row)) && others > e.Kept {
		return false
	}
	if !e.Half {
		return true
	}
	for j, x := range row {
		if math.Float32bits(x) != math.Float32bits(fill) {
			row[j] = float16.Round(x)
		}
	}
	return true
}

// fill returns the value of more than half of the cells of a row, if the row shares one, and how many cells have
// another. It is the one left when unequal cells are taken away in pairs. The fill of other rows is zero.
func (e MatrixEncoding) fill(row []float32) (fill float32, others int) {
	if !e.Shares(len(row)) {
		return 0, 0
	}
	majority, votes := uint32(0), 0
	for _, x := range row {
		switch bits := math.Float32bits(x); {
		case votes == 0:
			majority, votes = bits, 1
		case bits == majority:
			votes++
		default:
			votes--
		}
	}
	for _, x := range row {
		others += Bit(math.Float32bits(x) != majority)
	}
	return math.Float32frombits(majority), others
}
