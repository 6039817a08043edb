package kv

import (
	"encoding/binary"
	"fmt"
	"math"
)

// maxTileCells is the number of cells of one tile record: 64 KiB of float32.
const maxTileCells = 16 << 10

// maxBlockBytes bounds what a row block, which is buffered whole while it is written, takes in memory.
const maxBlockBytes = 4 << 20

// blockRows is the number of rows of the blocks of a matrix: 1024, fewer where that many wide rows would not be
// buffered. It depends on the width alone, so that the bytes on disk depend on the data alone.
func blockRows(width int) int {
	rows := 1024
	for rows > 1 && rows*width*4 > maxBlockBytes {
		rows /= 2
	}
	return rows
}

// A tile is encoded as
//
//	encoding byte      0 dense, 1 sparse; + 0x10 when rows are absent; + 0x20 when all values of a sparse tile are equal
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
// whichever is smaller.
const (
	tileDense    = 0
	tileSparse   = 1
	tileAbsent   = 0x10
	tileConstant = 0x20
)

// A window is a rectangle of float32 in memory, row-major with a stride.
type window struct {
	values []float32
	stride int
}

// row returns cells lo ≤ j < hi of row i.
func (w window) row(i, lo, hi int) []float32 { return w.values[i*w.stride+lo : i*w.stride+hi] }

// appendTile encodes columns lo ≤ j < hi of a window's rows to b; present says which rows were written.
func appendTile(b []byte, w window, present []bool, lo, hi int) []byte {
	rows, columns := len(present), hi-lo
	nonzero, absent, constant := 0, false, true
	first := uint32(0)
	for i, ok := range present {
		if !ok {
			absent = true
			continue
		}
		for _, x := range w.row(i, lo, hi) {
			if bits := math.Float32bits(x); bits != 0 {
				if nonzero == 0 {
					first = bits
				}
				constant = constant && bits == first
				nonzero++
			}
		}
	}
	constant = constant && nonzero > 0
	width := max(1, byteWidth(uint64(max(columns, 1)-1)))
	sparse := 2*rows + nonzero*width + 4*nonzero // counts take one or two bytes
	if constant {
		sparse = 2*rows + nonzero*width + 4
	}
	encoding := byte(tileDense)
	if sparse < rows*columns*4 {
		encoding = tileSparse
		if constant {
			encoding |= tileConstant
		}
	}
	if absent {
		encoding |= tileAbsent
	}
	b = append(b, encoding)
	b = binary.AppendUvarint(b, uint64(rows))
	b = binary.AppendUvarint(b, uint64(columns))
	if absent {
		at := len(b)
		b = append(b, make([]byte, (rows+7)/8)...)
		for i, ok := range present {
			if !ok {
				b[at+i/8] |= 1 << (i % 8)
			}
		}
	}
	if encoding&tileSparse == 0 {
		return appendDense(b, w, present, lo, hi)
	}
	return appendSparse(b, w, present, lo, hi, width, constant)
}

func appendDense(b []byte, w window, present []bool, lo, hi int) []byte {
	for i, ok := range present {
		if !ok {
			b = append(b, make([]byte, 4*(hi-lo))...)
			continue
		}
		for _, x := range w.row(i, lo, hi) {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	return b
}

func appendSparse(b []byte, w window, present []bool, lo, hi, width int, constant bool) []byte {
	// each calls f with every value but +0, row by row.
	each := func(f func(j int, bits uint32)) {
		for i, ok := range present {
			if !ok {
				continue
			}
			for j, x := range w.row(i, lo, hi) {
				if bits := math.Float32bits(x); bits != 0 {
					f(j, bits)
				}
			}
		}
	}
	for i, ok := range present {
		count := 0
		if ok {
			for _, x := range w.row(i, lo, hi) {
				if math.Float32bits(x) != 0 {
					count++
				}
			}
		}
		b = binary.AppendUvarint(b, uint64(count))
	}
	each(func(j int, _ uint32) { b = appendWidth(b, uint64(j), width) })
	if constant {
		last := uint32(0)
		each(func(_ int, bits uint32) { last = bits })
		return binary.LittleEndian.AppendUint32(b, last)
	}
	each(func(_ int, bits uint32) { b = binary.LittleEndian.AppendUint32(b, bits) })
	return b
}

// A tilePart says which rows and columns of a tile are wanted.
type tilePart struct{ rowLo, rowHi, lo, hi int }

// decodeTile writes a part of a tile of the given size to the rows of dst from 0 and the columns from 0. It returns the
// bits of the absent rows, nil for none, which borrow b.
func decodeTile(b []byte, rows, columns int, part tilePart, dst window) (absent []byte, err error) {
	r := reader{b: b}
	encoding := r.byte()
	gotRows, gotColumns := r.uvarint(math.MaxInt32), r.uvarint(math.MaxInt32)
	if r.failed || int(gotRows) != rows || int(gotColumns) != columns {
		return nil, fmt.Errorf("%w: a tile of %d×%d, want %d×%d", ErrCorrupt, gotRows, gotColumns, rows, columns)
	}
	if encoding&tileAbsent != 0 {
		absent = r.bytes((rows + 7) / 8)
	}
	switch encoding &^ tileAbsent {
	case tileDense:
		decodeDense(&r, rows, columns, part, dst)
	case tileSparse, tileSparse | tileConstant:
		decodeSparse(&r, rows, columns, encoding&tileConstant != 0, part, dst)
	default:
		r.fail()
	}
	if r.failed || len(r.b) > 0 {
		return nil, fmt.Errorf("%w: a damaged tile", ErrCorrupt)
	}
	for i := part.rowLo; i < part.rowHi; i++ {
		if isAbsent(absent, i) {
			fillNaN(dst.row(i-part.rowLo, 0, part.hi-part.lo))
		}
	}
	return absent, nil
}

func isAbsent(absent []byte, i int) bool { return absent != nil && absent[i/8]&(1<<(i%8)) != 0 }

func decodeDense(r *reader, rows, columns int, part tilePart, dst window) {
	values := r.bytes(rows * columns * 4)
	if r.failed {
		return
	}
	for i := part.rowLo; i < part.rowHi; i++ {
		from := values[4*(i*columns+part.lo) : 4*(i*columns+part.hi)]
		to := dst.row(i-part.rowLo, 0, part.hi-part.lo)
		for j := range to {
			to[j] = math.Float32frombits(binary.LittleEndian.Uint32(from[4*j:]))
		}
	}
}

func decodeSparse(r *reader, rows, columns int, constant bool, part tilePart, dst window) {
	width := max(1, byteWidth(uint64(max(columns, 1)-1)))
	counts := *r // read again below, row by row
	total := 0
	for range rows {
		total += int(r.uvarint(uint64(columns)))
	}
	indices := packed{r.bytes(total * width), width}
	stored := 1 // one for all
	if !constant {
		stored = total
	}
	values := r.bytes(4 * stored)
	for k := 0; !r.failed && k < total; k++ {
		if indices.at(k) >= uint64(columns) {
			r.fail()
		}
	}
	if r.failed {
		return
	}
	k := 0
	for i := range part.rowHi {
		count := int(counts.uvarint(uint64(columns)))
		if i < part.rowLo {
			k += count
			continue
		}
		to := dst.row(i-part.rowLo, 0, part.hi-part.lo)
		clear(to)
		for ; count > 0; count-- {
			if j := int(indices.at(k)); j >= part.lo && j < part.hi {
				at := 4 * k
				if constant {
					at = 0
				}
				to[j-part.lo] = math.Float32frombits(binary.LittleEndian.Uint32(values[at:]))
			}
			k++
		}
	}
}

func fillNaN(values []float32) {
	nan := float32(math.NaN())
	for i := range values {
		values[i] = nan
	}
}
