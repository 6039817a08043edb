package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/graphcleaner/graphcleaner/internal/float16"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

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
	columns int
	absent  []byte // a bit for each row, set of those that were never written; nil: none
	values  tileValues

	// Of a tile that is not dense.
	begins  []uint32   // of each row, its place among the indices; and their end
	indices uints      // of the columns that differ from the fill of their row
	fills   tileValues // of a shared tile; else zeros
}

// NewTile finds the rows in a tile of the given size, which borrows b.
func NewTile(b []byte, rows, columns int) (*Tile, error) {
	t := new(Tile)
	return t, t.parse(b, rows, columns)
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
	case tileSparse | tileConstant:
		t.values.constant = true
		t.parseSparse(&r, rows)
	case tileSparse:
		t.parseSparse(&r, rows)
	case tileShared:
		t.fills.b = r.Bytes(4 * rows)
		t.parseSparse(&r, rows)
	default:
		r.Fail()
	}
	if r.Failed || len(r.Rest) > 0 {
		return errDamagedTile
	}
	return nil
}

var errDamagedTile = fmt.Errorf("%w: a damaged tile", record.ErrCorrupt)

// parseSparse finds what follows the fills of a sparse or shared tile.
func (t *Tile) parseSparse(r *Reader, rows int) {
	t.begins = make([]uint32, rows+1)
	total := 0
	for i := range rows {
		total += int(r.Uvarint(uint64(t.columns)))
		t.begins[i+1] = uint32(total)
	}
	width := indexWidth(t.columns)
	t.indices = uints{r.Bytes(total * width), width}
	if t.values.constant {
		total = 1
	}
	t.values.b = r.Bytes(total * t.values.size())
}

// Read writes a part of the tile to the rows of dst from 0 and the columns from 0. Of a sparse tile it looks at the
// indices of these rows only: whoever reads a few rows does not pay for the tile.
func (t *Tile) Read(part TilePart, dst Window) error {
	for i := part.RowLo; i < part.RowHi; i++ {
		to := dst.Row(i-part.RowLo, 0, part.Hi-part.Lo)
		switch {
		case t.absent != nil && t.absent[i/8]&(1<<(i%8)) != 0:
			FillWith(to, float32(math.NaN()))
		case t.begins == nil:
			t.values.read(i*t.columns+part.Lo, to)
		default:
			if err := t.readSparse(i, part.Lo, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// readSparse writes the columns from lo of a row of a tile that is not dense.
func (t *Tile) readSparse(i, lo int, to []float32) error {
	if t.fills.b == nil {
		clear(to)
	} else {
		FillWith(to, t.fills.at(i))
	}
	for k := int(t.begins[i]); k < int(t.begins[i+1]); k++ {
		j := int(t.indices.At(k))
		if j >= t.columns {
			return errDamagedTile
		}
		if j >= lo && j < lo+len(to) {
			to[j-lo] = t.values.at(k)
		}
	}
	return nil
}

// tileValues are the values in a tile.
type tileValues struct {
	b        []byte
	half     bool
	constant bool // one value for all
}

// size is the number of bytes of a value.
func (s tileValues) size() int { return MatrixEncoding{Half: s.half}.valueBytes() }

func (s tileValues) at(k int) float32 {
	if s.constant {
		k = 0
	}
	if s.half {
		return float16.Float32(binary.LittleEndian.Uint16(s.b[2*k:]))
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(s.b[4*k:]))
}

// read reads values from the k-th on.
func (s tileValues) read(k int, to []float32) {
	from := s.b[k*s.size():][:len(to)*s.size()]
	if s.half {
		for j := range to {
			to[j] = float16.Float32(binary.LittleEndian.Uint16(from[2*j:]))
		}
		return
	}
	for j := range to {
		to[j] = math.Float32frombits(binary.LittleEndian.Uint32(from[4*j:]))
	}
}
