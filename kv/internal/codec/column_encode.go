package codec

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
)

// ColumnRows is the number of consecutive nodes whose values one block holds.
const ColumnRows = 4096

// A column block is encoded as
//
//	encoding  byte        0 no value, 1 ints, 2 floats, 3 strings; + 0x10 when some are null
//	count     uvarint     of rows, ≤ 4096
//	nulls     ⌈count/8⌉   bit i%8 of byte i/8 set: row i is null (only with 0x10)
//
// and then ints, of which bools and classes are:
//
//	least, greatest       varints
//	width     byte        0, 1, 2, 4 or 8: bytes of each value, counted from least; 0 when all are equal
//	values    count×width little-endian, null rows zero
//
// floats, of which singles are:
//
//	least, greatest       8 bytes each, little-endian IEEE 754
//	values    count×8     singles: count×4
//
// or strings, which are numbers in a sorted table:
//
//	distinct  uvarint     ≥ 1
//	lengths   uvarints
//	bytes                 of all, one after the other, ascending; so the first is the least, the last the greatest
//	width     byte        0, 1 or 2
//	numbers   count×width
const (
	blockEmpty   = 0
	blockInts    = 1
	blockFloats  = 2
	blockStrings = 3
	blockNulls   = 0x10
)

// blockForm is the encoding of the values of a kind.
func blockForm(k Kind) byte {
	switch k {
	case KindFloat, KindSingle:
		return blockFloats
	case KindString:
		return blockStrings
	}
	return blockInts
}

// AppendColumn appends a block of the values of a kind to b. A class is the int of its number.
func AppendColumn(b []byte, k Kind, cells []Value) []byte {
	nulls := 0
	for i := range cells {
		if cells[i].IsNull() {
			nulls++
		}
	}
	encoding := blockForm(k)
	switch nulls {
	case len(cells):
		encoding = blockEmpty
	case 0:
	default:
		encoding |= blockNulls
	}
	b = binary.AppendUvarint(append(b, encoding), uint64(len(cells)))
	if encoding&blockNulls != 0 {
		b = appendNulls(b, cells)
	}
	switch encoding &^ blockNulls {
	case blockInts:
		return appendInts(b, cells)
	case blockFloats:
		return appendFloats(b, cells, k == KindSingle)
	case blockStrings:
		return appendStrings(b, cells)
	}
	return b
}

func appendNulls(b []byte, cells []Value) []byte {
	at := len(b)
	b = append(b, make([]byte, (len(cells)+7)/8)...)
	for i := range cells {
		if cells[i].IsNull() {
			b[at+i/8] |= 1 << (i % 8)
		}
	}
	return b
}

func appendInts(b []byte, cells []Value) []byte {
	least, greatest := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range cells {
		if !cells[i].IsNull() {
			least, greatest = min(least, int64(cells[i].num)), max(greatest, int64(cells[i].num))
		}
	}
	b = binary.AppendVarint(binary.AppendVarint(b, least), greatest)
	width := byteWidth(uint64(greatest) - uint64(least))
	b = append(b, byte(width))
	for i := range cells {
		offset := uint64(0)
		if !cells[i].IsNull() {
			offset = cells[i].num - uint64(least)
		}
		b = appendWidth(b, offset, width)
	}
	return b
}

func appendFloats(b []byte, cells []Value, single bool) []byte {
	least, greatest := math.Inf(1), math.Inf(-1)
	for i := range cells {
		if x := math.Float64frombits(cells[i].num); !cells[i].IsNull() {
			least, greatest = min(least, x), max(greatest, x)
		}
	}
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(least))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(greatest))
	for i := range cells {
		if single {
			x := math.Float64frombits(cells[i].num) // 0 of null
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
		} else {
			b = binary.LittleEndian.AppendUint64(b, cells[i].num)
		}
	}
	return b
}

func appendStrings(b []byte, cells []Value) []byte {
	numbers := map[string]int{}
	for i := range cells {
		if !cells[i].IsNull() {
			numbers[cells[i].str] = 0
		}
	}
	table := slices.Sorted(maps.Keys(numbers))
	b = binary.AppendUvarint(b, uint64(len(table)))
	for i, s := range table {
		numbers[s] = i
		b = binary.AppendUvarint(b, uint64(len(s)))
	}
	for _, s := range table {
		b = append(b, s...)
	}
	width := byteWidth(uint64(len(table) - 1))
	b = append(b, byte(width))
	for i := range cells {
		number := 0
		if !cells[i].IsNull() {
			number = numbers[cells[i].str]
		}
		b = appendWidth(b, uint64(number), width)
	}
	return b
}
