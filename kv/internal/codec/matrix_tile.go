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

// MaxTileBytes bounds the record of a tile of rows that share a value.
const MaxTileBytes = 64 << 10

// maxBlockBytes bounds what a row block, which is buffered whole while it is written, takes in memory.
const maxBlockBytes = 4 << 20

// A MatrixEncoding says how a matrix is stored. The zero value keeps every cell as a float32.
type MatrixEncoding struct {
	// Half keeps cells as IEEE 754 binary16: see RoundHalf for the error.
	Half bool

	// Kept says that at most so many cells of a row differ from one value, the same in all others; these alone are
	// stored, and that value, which is a float32 even with Half. Zero stands for rows of any values. It has no effect
	// if it is not less than half the width, or greater than 4096.
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

// A tile is encoded as
//
//	encoding byte      0 dense, 1 sparse, 2 shared; + 0x10 when rows are absent; + 0x20 when all values of a sparse
//	                   tile are equal; + 0x40 when values are binary16
//	rows     uvarint
//	columns  uvarint
//	absent   ⌈rows/8⌉  bit i%8 of byte i/8 set: row i was never written, and reads as NaN (only with 0x10)
//
// and then, dense,
//
//	values   rows×columns×4   float32, little-endian, row by row; zero in an absent row
//
// or, sparse, all but +0:
//
//	counts   rows uvarints    values of each row
//	indices  1, 2 or 4 bytes each: as many as columns-1 needs, and at least 1
//	values   4 bytes each, or one for all with 0x20
//
// whichever is smaller; or, shared, which the encoding of the matrix asks for,
//
//	fills    rows×4           float32: the value of all cells of a row but those that follow
//	counts, indices, values   as in a sparse tile
//
// A value of binary16 takes 2 bytes in place of 4.
const (
	tileDense    = 0
	tileSparse   = 1
	tileShared   = 2
	tileAbsent   = 0x10
	tileConstant = 0x20
	tileHalf     = 0x40
)

// A Window is a rectangle of float32 in memory, row-major with a stride.
type Window struct {
	Values []float32
	Stride int
}

// Row returns cells lo ≤ j < hi of row i.
func (w Window) Row(i, lo, hi int) []float32 { return w.Values[i*w.Stride+lo : i*w.Stride+hi] }

// AppendTile encodes columns lo ≤ j < hi of a window's rows to b; present says which rows were written. Values are
// rounded already. With fills, one a row, the tile is shared.
func (e MatrixEncoding) AppendTile(b []byte, w Window, present []bool, fills []float32, lo, hi int) []byte {
	t := tileEncoder{b: b, half: e.Half, w: w, present: present, fills: fills, lo: lo, hi: hi}
	t.append()
	return t.b
}

// A tileEncoder appends one tile to b.
type tileEncoder struct {
	b       []byte
	half    bool
	w       Window
	present []bool
	fills   []float32 // nil: zeros
	lo, hi  int
}

func (t *tileEncoder) append() {
	rows, columns := len(t.present), t.hi-t.lo
	count, constant := 0, true
	first := uint32(0)
	t.each(func(_ int, bits uint32) {
		if count == 0 {
			first = bits
		}
		constant = constant && bits == first
		count++
	})
	constant = constant && count > 0 && t.fills == nil
	width, size := indexWidth(columns), MatrixEncoding{Half: t.half}.valueBytes()
	sparse := 2*rows + count*width + size*count // counts take one or two bytes
	if constant {
		sparse = 2*rows + count*width + size
	}
	encoding := byte(tileDense)
	switch {
	case t.fills != nil:
		encoding = tileShared
	case sparse < rows*columns*size:
		encoding = tileSparse
		if constant {
			encoding |= tileConstant
		}
	}
	absent := slices.Contains(t.present, false)
	if absent {
		encoding |= tileAbsent
	}
	if t.half {
		encoding |= tileHalf
	}
	t.b = append(t.b, encoding)
	t.b = binary.AppendUvarint(t.b, uint64(rows))
	t.b = binary.AppendUvarint(t.b, uint64(columns))
	if absent {
		at := len(t.b)
		t.b = append(t.b, make([]byte, (rows+7)/8)...)
		for i, ok := range t.present {
			if !ok {
				t.b[at+i/8] |= 1 << (i % 8)
			}
		}
	}
	if encoding&(tileSparse|tileShared) == 0 {
		t.appendDense()
		return
	}
	for _, fill := range t.fills {
		t.b = binary.LittleEndian.AppendUint32(t.b, math.Float32bits(fill))
	}
	t.appendSparse(width, constant)
}

// fill is the value that row i has if nothing is stored.
func (t *tileEncoder) fill(i int) uint32 {
	if t.fills == nil {
		return 0
	}
	return math.Float32bits(t.fills[i])
}

// each calls f with every value but the fill, row by row.
func (t *tileEncoder) each(f func(j int, bits uint32)) {
	for i, ok := range t.present {
		if !ok {
			continue
		}
		fill := t.fill(i)
		for j, x := range t.w.Row(i, t.lo, t.hi) {
			if bits := math.Float32bits(x); bits != fill {
				f(j, bits)
			}
		}
	}
}

func (t *tileEncoder) appendValue(bits uint32) {
	if t.half {
		t.b = binary.LittleEndian.AppendUint16(t.b, toHalf(math.Float32frombits(bits)))
	} else {
		t.b = binary.LittleEndian.AppendUint32(t.b, bits)
	}
}

func (t *tileEncoder) appendDense() {
	for i, ok := range t.present {
		for _, x := range t.w.Row(i, t.lo, t.hi) {
			if !ok {
				x = 0
			}
			t.appendValue(math.Float32bits(x))
		}
	}
}

func (t *tileEncoder) appendSparse(width int, constant bool) {
	for i, ok := range t.present {
		count := 0
		if ok {
			fill := t.fill(i)
			for _, x := range t.w.Row(i, t.lo, t.hi) {
				if math.Float32bits(x) != fill {
					count++
				}
			}
		}
		t.b = binary.AppendUvarint(t.b, uint64(count))
	}
	t.each(func(j int, _ uint32) { t.b = appendWidth(t.b, uint64(j), width) })
	last := uint32(0)
	t.each(func(_ int, bits uint32) {
		last = bits
		if !constant {
			t.appendValue(bits)
		}
	})
	if constant {
		t.appendValue(last)
	}
}

// A TilePart says which rows and columns of a tile are wanted.
type TilePart struct{ RowLo, RowHi, Lo, Hi int }

// DecodeTile writes a part of a tile of the given size to the rows of dst from 0 and the columns from 0.
func DecodeTile(b []byte, rows, columns int, part TilePart, dst Window) error {
	var t Tile
	if err := t.parse(b, rows, columns); err != nil {
		return err
	}
	return t.Read(part, dst)
}

// A Tile is an encoded tile whose parts are read again and again.
type Tile struct {
	columns  int
	sparse   bool
	constant bool   // one value for all
	absent   []byte // a bit for each row, set of those that were never written; nil: none
	fills    []byte // of a shared tile; nil: zeros
	counts   Reader // of a sparse tile, as all that follows
	indices  uints
	values   tileValues
	begins   []uint32 // of the indices of each row, and their end; nil: counts are read
}

// NewTile finds the rows in a tile of the given size, which borrows b.
func NewTile(b []byte, rows, columns int) (*Tile, error) {
	t := new(Tile)
	if err := t.parse(b, rows, columns); err != nil {
		return nil, err
	}
	if t.sparse {
		counts := t.counts
		t.begins = make([]uint32, rows+1)
		for i := range rows {
			t.begins[i+1] = t.begins[i] + uint32(counts.Uvarint(uint64(columns)))
		}
	}
	return t, nil
}

// Size is what a tile takes in memory beside its bytes.
func (t *Tile) Size() int64 { return int64(unsafe.Sizeof(*t)) + int64(cap(t.begins))*4 }

// parse finds what follows one another in an encoded tile.
func (t *Tile) parse(b []byte, rows, columns int) error {
	r := Reader{Rest: b}
	encoding := r.byte()
	gotRows, gotColumns := r.Uvarint(math.MaxInt32), r.Uvarint(math.MaxInt32)
	if r.Failed || int(gotRows) != rows || int(gotColumns) != columns {
		return fmt.Errorf("%w: a tile of %d×%d, want %d×%d", record.ErrCorrupt, gotRows, gotColumns, rows, columns)
	}
	t.columns = columns
	if encoding&tileAbsent != 0 {
		t.absent = r.Bytes((rows + 7) / 8)
	}
	t.values.half = encoding&tileHalf != 0
	switch encoding &^ (tileAbsent | tileHalf) {
	case tileDense:
		t.values.b = r.Bytes(rows * columns * t.values.size())
	case tileSparse:
		t.sparse = true
	case tileSparse | tileConstant:
		t.sparse, t.constant = true, true
	case tileShared:
		t.sparse, t.fills = true, r.Bytes(4*rows)
	default:
		r.Fail()
	}
	if t.sparse {
		t.parseSparse(&r, rows)
	}
	if r.Failed || len(r.Rest) > 0 {
		return errDamagedTile
	}
	return nil
}

var errDamagedTile = fmt.Errorf("%w: a damaged tile", record.ErrCorrupt)

// parseSparse finds what follows the fills of a sparse or shared tile.
func (t *Tile) parseSparse(r *Reader, rows int) {
	t.counts = *r
	total := 0
	for range rows {
		total += int(r.Uvarint(uint64(t.columns)))
	}
	width := indexWidth(t.columns)
	t.indices = uints{r.Bytes(total * width), width}
	if t.constant {
		total = 1
	}
	t.values.b = r.Bytes(total * t.values.size())
}

// Read writes a part of the tile to the rows of dst from 0 and the columns from 0. Of a sparse tile it looks at the indices of these rows
// only: whoever reads a few rows does not pay for the tile.
func (t *Tile) Read(part TilePart, dst Window) error {
	if t.sparse {
		if err := t.readSparse(part, dst); err != nil {
			return err
		}
	} else {
		t.readDense(part, dst)
	}
	for i := part.RowLo; i < part.RowHi; i++ {
		if t.absent != nil && t.absent[i/8]&(1<<(i%8)) != 0 {
			FillWith(dst.Row(i-part.RowLo, 0, part.Hi-part.Lo), float32(math.NaN()))
		}
	}
	return nil
}

// tileValues are the values in a tile.
type tileValues struct {
	b    []byte
	half bool
}

// size is the number of bytes of a value.
func (s tileValues) size() int { return MatrixEncoding{Half: s.half}.valueBytes() }

func (s tileValues) at(k int) float32 {
	if s.half {
		return fromHalf(binary.LittleEndian.Uint16(s.b[2*k:]))
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(s.b[4*k:]))
}

func (t *Tile) readDense(part TilePart, dst Window) {
	values, half := t.values, t.values.half
	for i := part.RowLo; i < part.RowHi; i++ {
		to := dst.Row(i-part.RowLo, 0, part.Hi-part.Lo)
		from := values.b[(i*t.columns+part.Lo)*values.size() : (i*t.columns+part.Hi)*values.size()]
		if half {
			for j := range to {
				to[j] = fromHalf(binary.LittleEndian.Uint16(from[2*j:]))
			}
			continue
		}
		for j := range to {
			to[j] = math.Float32frombits(binary.LittleEndian.Uint32(from[4*j:]))
		}
	}
}

func (t *Tile) readSparse(part TilePart, dst Window) error {
	counts, k := t.counts, 0
	if t.begins != nil {
		k = int(t.begins[part.RowLo])
	} else {
		for range part.RowLo {
			k += int(counts.Uvarint(uint64(t.columns)))
		}
	}
	for i := part.RowLo; i < part.RowHi; i++ {
		end := k
		if t.begins != nil {
			end = int(t.begins[i+1])
		} else {
			end += int(counts.Uvarint(uint64(t.columns)))
		}
		to := dst.Row(i-part.RowLo, 0, part.Hi-part.Lo)
		if t.fills == nil {
			clear(to)
		} else {
			FillWith(to, tileValues{b: t.fills}.at(i))
		}
		for ; k < end; k++ {
			j := int(t.indices.At(k))
			if j >= t.columns {
				return errDamagedTile
			}
			if j >= part.Lo && j < part.Hi {
				at := k
				if t.constant {
					at = 0
				}
				to[j-part.Lo] = t.values.at(at)
			}
		}
	}
	return nil
}

// FillWith sets all values to one.
func FillWith(values []float32, x float32) {
	for i := range values {
		values[i] = x
	}
}

// Round makes the cells of a row what their encoding keeps of them. fill is the value that the others of a shared row
// have, which is kept as it is.
func (e MatrixEncoding) Round(row []float32, fill float32) {
	if !e.Half {
		return
	}
	for j, x := range row {
		if math.Float32bits(x) != math.Float32bits(fill) {
			row[j] = RoundHalf(x)
		}
	}
}

// Share returns the value that all cells of a row but at most e.Kept have, and false if there is none. It has more
// than half of the cells, so that it is the one left when unequal cells are taken away in pairs.
func (e MatrixEncoding) Share(row []float32) (fill float32, ok bool) {
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
	others := 0
	for _, x := range row {
		if math.Float32bits(x) != majority {
			others++
		}
	}
	return math.Float32frombits(majority), others <= e.Kept
}
