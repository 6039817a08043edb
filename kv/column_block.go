package kv

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// columnBlockRows is the number of consecutive nodes whose values one block holds.
const columnBlockRows = 4096

// A cells buffer holds the values of one block before they are encoded. Bools, ints and classes are in ints.
type cells struct {
	kind    Kind
	count   int
	present [columnBlockRows]bool
	ints    []int64
	floats  []float64
	strs    []string
}

func newCells(k Kind) *cells {
	c := &cells{kind: k}
	switch k {
	case KindFloat, KindSingle:
		c.floats = make([]float64, columnBlockRows)
	case KindString:
		c.strs = make([]string, columnBlockRows)
	default:
		c.ints = make([]int64, columnBlockRows)
	}
	return c
}

// reset empties the buffer for a block of count rows.
func (c *cells) reset(count int) {
	c.count = count
	clear(c.present[:])
	clear(c.strs)
}

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
//	width     byte        0, 4 or 8: singles when 4; 0 when all are equal
//	values    count×width
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

// encode appends the block to b.
func (c *cells) encode(b []byte) []byte {
	values := 0
	for _, present := range c.present[:c.count] {
		if present {
			values++
		}
	}
	if values == 0 {
		return binary.AppendUvarint(append(b, blockEmpty), uint64(c.count))
	}
	encoding := byte(blockInts)
	switch {
	case c.floats != nil:
		encoding = blockFloats
	case c.strs != nil:
		encoding = blockStrings
	}
	if values < c.count {
		encoding |= blockNulls
	}
	b = binary.AppendUvarint(append(b, encoding), uint64(c.count))
	if values < c.count {
		b = c.appendNulls(b)
	}
	switch {
	case c.floats != nil:
		return c.appendFloats(b)
	case c.strs != nil:
		return c.appendStrings(b)
	}
	return c.appendInts(b)
}

func (c *cells) appendNulls(b []byte) []byte {
	at := len(b)
	b = append(b, make([]byte, (c.count+7)/8)...)
	for i, present := range c.present[:c.count] {
		if !present {
			b[at+i/8] |= 1 << (i % 8)
		}
	}
	return b
}

func (c *cells) appendInts(b []byte) []byte {
	least, greatest := int64(math.MaxInt64), int64(math.MinInt64)
	for i, x := range c.ints[:c.count] {
		if c.present[i] {
			least, greatest = min(least, x), max(greatest, x)
		}
	}
	b = binary.AppendVarint(binary.AppendVarint(b, least), greatest)
	width := byteWidth(uint64(greatest) - uint64(least))
	b = append(b, byte(width))
	for i, x := range c.ints[:c.count] {
		offset := uint64(0)
		if c.present[i] {
			offset = uint64(x) - uint64(least)
		}
		b = appendWidth(b, offset, width)
	}
	return b
}

func (c *cells) appendFloats(b []byte) []byte {
	least, greatest := math.Inf(1), math.Inf(-1)
	first, constant := uint64(0), true
	for i, x := range c.floats[:c.count] {
		if !c.present[i] {
			continue
		}
		if least > greatest {
			first = math.Float64bits(x)
		}
		constant = constant && math.Float64bits(x) == first
		least, greatest = min(least, x), max(greatest, x)
	}
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(least))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(greatest))
	switch {
	case constant:
		return append(b, 0)
	case c.kind == KindSingle:
		b = append(b, 4)
	default:
		b = append(b, 8)
	}
	for i, x := range c.floats[:c.count] {
		if !c.present[i] {
			x = 0
		}
		if c.kind == KindSingle {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
		} else {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
	}
	return b
}

func (c *cells) appendStrings(b []byte) []byte {
	table := make([]string, 0, c.count)
	for i, s := range c.strs[:c.count] {
		if c.present[i] {
			table = append(table, s)
		}
	}
	slices.Sort(table)
	table = slices.Compact(table)
	numbers := make(map[string]int, len(table))
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
	for i, s := range c.strs[:c.count] {
		number := 0
		if c.present[i] {
			number = numbers[s]
		}
		b = appendWidth(b, uint64(number), width)
	}
	return b
}

// A columnBlock gives access to the rows of an encoded block without decoding all of them. It borrows the bytes it was
// parsed from.
type columnBlock struct {
	encoding byte // without blockNulls
	count    int
	nulls    []byte // nil: none
	values   packed // count of them

	least, greatest   int64    // of ints
	leastF, greatestF float64  // of floats
	ends              []uint32 // of strings: where each of the table ends in text
	text              []byte
}

// clear makes it a block of no rows, keeping its memory.
func (c *columnBlock) clear() { *c = columnBlock{ends: c.ends[:0]} }

// parse reads a block, reusing the memory of the last one. After it every access is within bounds.
func (c *columnBlock) parse(k Kind, b []byte) error {
	r := reader{b: b}
	encoding := r.byte()
	c.clear()
	c.encoding = encoding &^ blockNulls
	c.count = int(r.uvarint(columnBlockRows))
	if encoding&blockNulls != 0 {
		c.nulls = r.bytes((c.count + 7) / 8)
	}
	want := byte(blockInts)
	switch {
	case encoding == blockEmpty:
		want = blockEmpty
	case k == KindFloat || k == KindSingle:
		want = blockFloats
	case k == KindString:
		want = blockStrings
	}
	if r.failed || c.encoding != want {
		return fmt.Errorf("%w: not a block of a %s column", ErrCorrupt, k)
	}
	switch c.encoding {
	case blockInts:
		c.least, c.greatest = r.varint(), r.varint()
	case blockFloats:
		c.leastF, c.greatestF = math.Float64frombits(r.uint64()), math.Float64frombits(r.uint64())
	case blockStrings:
		c.parseTable(&r)
	}
	if c.encoding != blockEmpty {
		width := int(r.byte())
		c.values = packed{r.bytes(c.count * width), width}
	}
	if r.failed || len(r.b) > 0 || !c.consistent(k) {
		return fmt.Errorf("%w: a damaged block of a %s column", ErrCorrupt, k)
	}
	return nil
}

func (c *columnBlock) parseTable(r *reader) {
	distinct := int(r.uvarint(columnBlockRows))
	end := uint64(0)
	for range distinct {
		end += r.uvarint(MaxString)
		c.ends = append(c.ends, uint32(end))
	}
	c.text = r.bytes(int(end))
}

// consistent checks what the encoding promises of the values, so that reading them needs no checks.
func (c *columnBlock) consistent(k Kind) bool {
	switch c.encoding {
	case blockInts:
		return c.least <= c.greatest && c.values.width == byteWidth(uint64(c.greatest)-uint64(c.least)) &&
			(k != KindBool || c.least >= 0 && c.greatest <= 1) && (k != KindClass || c.least >= 0 && c.greatest <= math.MaxInt32) &&
			c.below(uint64(c.greatest)-uint64(c.least))
	case blockFloats:
		single := 8
		if k == KindSingle {
			single = 4
		}
		return c.leastF <= c.greatestF && (c.values.width == 0 || c.values.width == single)
	case blockStrings:
		return len(c.ends) > 0 && c.values.width == byteWidth(uint64(len(c.ends)-1)) && c.below(uint64(len(c.ends)-1))
	}
	return true
}

// below reports whether every packed value is at most limit.
func (c *columnBlock) below(limit uint64) bool {
	if c.values.width < 8 && limit >= 1<<(8*c.values.width)-1 {
		return true // as is any number of so many bytes
	}
	if c.values.width == 1 {
		for _, value := range c.values.b {
			if uint64(value) > limit {
				return false
			}
		}
		return true
	}
	for i := range c.count {
		if c.values.at(i) > limit {
			return false
		}
	}
	return true
}

func (c *columnBlock) isNull(i int) bool {
	return c.encoding == blockEmpty || c.nulls != nil && c.nulls[i/8]&(1<<(i%8)) != 0
}

// int is row i of a block of ints, which is not null.
func (c *columnBlock) int(i int) int64 { return int64(uint64(c.least) + c.values.at(i)) }

// float is row i of a block of floats, which is not null.
func (c *columnBlock) float(i int) float64 {
	switch c.values.width {
	case 0:
		return c.leastF
	case 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(c.values.b[4*i:])))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(c.values.b[8*i:]))
}

// str is the n-th string of the table.
func (c *columnBlock) str(n int) []byte {
	start := uint32(0)
	if n > 0 {
		start = c.ends[n-1]
	}
	return c.text[start:c.ends[n]]
}
