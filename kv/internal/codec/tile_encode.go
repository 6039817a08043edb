package codec

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/float16"
)

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

// FillWith sets all values to one.
func FillWith(values []float32, x float32) {
	for i := range values {
		values[i] = x
	}
}

// AppendTile encodes columns lo ≤ j < hi of a window's rows to b; present says which rows were written. Values are
// rounded already. With fills, one a row, the tile is shared.
func (e MatrixEncoding) AppendTile(b []byte, w Window, present []bool, fills []float32, lo, hi int) []byte {
	t := tileEncoder{MatrixEncoding: e, w: w, present: present, fills: fills, lo: lo, hi: hi}
	encoding := t.choose()
	absent := slices.Contains(present, false)
	b = append(b, encoding|byte(tileAbsent*Bit(absent)|tileHalf*Bit(e.Half)))
	b = binary.AppendUvarint(b, uint64(len(present)))
	b = binary.AppendUvarint(b, uint64(hi-lo))
	if absent {
		at := len(b)
		b = append(b, make([]byte, (len(present)+7)/8)...)
		for i, ok := range present {
			if !ok {
				b[at+i/8] |= 1 << (i % 8)
			}
		}
	}
	if encoding == tileDense {
		return t.appendDense(b)
	}
	for _, fill := range fills {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(fill))
	}
	return append(append(append(b, t.counts...), t.indices...), t.values...)
}

// A tileEncoder encodes one tile.
type tileEncoder struct {
	MatrixEncoding
	w       Window
	present []bool
	fills   []float32 // nil: zeros
	lo, hi  int

	counts, indices, values []byte // of a tile that is not dense
}

// choose says how the tile is encoded, and collects the values of one that is not dense.
func (t *tileEncoder) choose() byte {
	count, constant, first := 0, t.fills == nil, uint32(0)
	for i := range t.present {
		t.each(i, func(_ int, x float32) {
			if count == 0 {
				first = math.Float32bits(x)
			}
			constant = constant && math.Float32bits(x) == first
			count++
		})
	}
	width, size := indexWidth(t.hi-t.lo), t.valueBytes()
	constant = constant && count > 0
	values := size * count
	if constant {
		values = size
	}
	encoding := byte(tileSparse)
	switch {
	case t.fills != nil:
		encoding = tileShared
	case 2*len(t.present)+width*count+values >= len(t.present)*(t.hi-t.lo)*size: // counts take one or two bytes
		return tileDense
	case constant:
		encoding |= tileConstant
	}
	t.indices, t.values = make([]byte, 0, width*count), make([]byte, 0, size*count)
	for i := range t.present {
		before := len(t.indices)
		t.each(i, func(j int, x float32) {
			t.indices = appendWidth(t.indices, uint64(j), width)
			t.values = t.appendValue(t.values, x)
		})
		t.counts = binary.AppendUvarint(t.counts, uint64((len(t.indices)-before)/width))
	}
	t.values = t.values[:values]
	return encoding
}

// each calls f with the values of row i that differ from its fill.
func (t *tileEncoder) each(i int, f func(j int, x float32)) {
	if !t.present[i] {
		return
	}
	fill := uint32(0)
	if t.fills != nil {
		fill = math.Float32bits(t.fills[i])
	}
	for j, x := range t.w.Row(i, t.lo, t.hi) {
		if math.Float32bits(x) != fill {
			f(j, x)
		}
	}
}

func (t *tileEncoder) appendDense(b []byte) []byte {
	for i, ok := range t.present {
		for _, x := range t.w.Row(i, t.lo, t.hi) {
			if !ok {
				x = 0
			}
			b = t.appendValue(b, x)
		}
	}
	return b
}

func (t *tileEncoder) appendValue(b []byte, x float32) []byte {
	if t.Half {
		return binary.LittleEndian.AppendUint16(b, float16.From(x))
	}
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
}
