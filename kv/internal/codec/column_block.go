package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// ColumnRows is the number of consecutive nodes whose values one block holds.
const ColumnRows = 4096

// A Cells buffer holds the values of one block before they are encoded. Bools, ints and classes are in ints.
type Cells struct {
	kind    Kind
	Count   int
	Present []bool
	ints    []int64
	floats  []float64
	strs    []string
}

// NewCells makes a buffer for the blocks of a column of a kind, which have so many rows at most.
func NewCells(k Kind, rows int) *Cells {
	c := &Cells{kind: k, Present: make([]bool, rows)}
	switch k {
	case KindFloat, KindSingle:
		c.floats = make([]float64, rows)
	case KindString:
		c.strs = make([]string, rows)
	default:
		c.ints = make([]int64, rows)
	}
	return c
}

// Reset empties the buffer for a block of count rows.
func (c *Cells) Reset(count int) {
	c.Count = count
	clear(c.Present)
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

// Encode appends the block to b.
func (c *Cells) Encode(b []byte) []byte {
	values := 0
	for _, present := range c.Present[:c.Count] {
		if present {
			values++
		}
	}
	if values == 0 {
		return binary.AppendUvarint(append(b, blockEmpty), uint64(c.Count))
	}
	encoding := byte(blockInts)
	switch {
	case c.floats != nil:
		encoding = blockFloats
	case c.strs != nil:
		encoding = blockStrings
	}
	if values < c.Count {
		encoding |= blockNulls
	}
	b = binary.AppendUvarint(append(b, encoding), uint64(c.Count))
	if values < c.Count {
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

func (c *Cells) appendNulls(b []byte) []byte {
	at := len(b)
	b = append(b, make([]byte, (c.Count+7)/8)...)
	for i, present := range c.Present[:c.Count] {
		if !present {
			b[at+i/8] |= 1 << (i % 8)
		}
	}
	return b
}

func (c *Cells) appendInts(b []byte) []byte {
	least, greatest := int64(math.MaxInt64), int64(math.MinInt64)
	for i, x := range c.ints[:c.Count] {
		if c.Present[i] {
			least, greatest = min(least, x), max(greatest, x)
		}
	}
	b = binary.AppendVarint(binary.AppendVarint(b, least), greatest)
	width := byteWidth(uint64(greatest) - uint64(least))
	b = append(b, byte(width))
	for i, x := range c.ints[:c.Count] {
		offset := uint64(0)
		if c.Present[i] {
			offset = uint64(x) - uint64(least)
		}
		b = appendWidth(b, offset, width)
	}
	return b
}

func (c *Cells) appendFloats(b []byte) []byte {
	least, greatest := math.Inf(1), math.Inf(-1)
	first, constant := uint64(0), true
	for i, x := range c.floats[:c.Count] {
		if !c.Present[i] {
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
	for i, x := range c.floats[:c.Count] {
		if !c.Present[i] {
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

func (c *Cells) appendStrings(b []byte) []byte {
	table := make([]string, 0, c.Count)
	for i, s := range c.strs[:c.Count] {
		if c.Present[i] {
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
	for i, s := range c.strs[:c.Count] {
		number := 0
		if c.Present[i] {
			number = numbers[s]
		}
		b = appendWidth(b, uint64(number), width)
	}
	return b
}

// A Column gives access to the rows of an encoded block without decoding all of them. It borrows the bytes it was
// parsed from.
type Column struct {
	encoding byte // without blockNulls
	Count    int
	nulls    []byte // nil: none
	values   uints  // count of them

	least, greatest   int64    // of ints
	leastF, greatestF float64  // of floats
	ends              []uint32 // of strings: where each of the table ends in text
	text              []byte
}

// Parse reads a block, reusing the memory of the last one. After it every access is within bounds.
func (c *Column) Parse(k Kind, b []byte) error {
	r := Reader{Rest: b}
	encoding := r.byte()
	*c = Column{ends: c.ends[:0]}
	c.encoding = encoding &^ blockNulls
	c.Count = int(r.Uvarint(ColumnRows))
	if encoding&blockNulls != 0 {
		c.nulls = r.Bytes((c.Count + 7) / 8)
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
	if r.Failed || c.encoding != want {
		return fmt.Errorf("%w: not a block of a %s column", record.ErrCorrupt, k)
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
		c.values = uints{r.Bytes(c.Count * width), width}
	}
	if r.Failed || len(r.Rest) > 0 || !c.consistent(k) {
		return fmt.Errorf("%w: a damaged block of a %s column", record.ErrCorrupt, k)
	}
	return nil
}

func (c *Column) parseTable(r *Reader) {
	distinct := int(r.Uvarint(ColumnRows))
	end := uint64(0)
	for range distinct {
		end += r.Uvarint(MaxString)
		c.ends = append(c.ends, uint32(end))
	}
	c.text = r.Bytes(int(end))
}

// consistent checks what the encoding promises of the values, so that reading them needs no checks.
func (c *Column) consistent(k Kind) bool {
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
func (c *Column) below(limit uint64) bool {
	if c.values.width < 8 && limit >= 1<<(8*c.values.width)-1 {
		return true // as is any number of so many bytes
	}
	if c.values.width == 1 {
		return bytesBelow(c.values.b, byte(limit))
	}
	for i := range c.Count {
		if c.values.At(i) > limit {
			return false
		}
	}
	return true
}

// bytesBelow reports whether every byte is at most limit. It compares eight at a time: what is added to the low bits of a byte carries into its
// high bit if they are above those of the limit.
func bytesBelow(b []byte, limit byte) bool {
	const ones, low = 0x0101010101010101, 0x7f * 0x0101010101010101
	above := uint64(0) // the high bits of bytes above the limit
	carry := uint64(0x7f-limit&0x7f) * ones
	for ; len(b) >= 8; b = b[8:] {
		x := binary.LittleEndian.Uint64(b)
		if sum := x&low + carry; limit < 0x80 {
			above |= sum | x
		} else {
			above |= sum & x
		}
	}
	for _, x := range b {
		if x > limit {
			return false
		}
	}
	return above&^low == 0
}

// IsNull says whether row i has no value.
func (c *Column) IsNull(i int) bool {
	return c.encoding == blockEmpty || c.nulls != nil && c.nulls[i/8]&(1<<(i%8)) != 0
}

// Int is row i of a block of ints, which is not null.
func (c *Column) Int(i int) int64 { return int64(uint64(c.least) + c.values.At(i)) }

// ReadInts fills dst with the rows from row first of a block of ints that fit into T. A row without a value is null.
func ReadInts[T ~int32](c *Column, first int, dst []T, null T) {
	if c.values.width == 1 {
		for i, x := range c.values.b[first:][:len(dst)] {
			dst[i] = T(c.least + int64(x))
		}
	} else {
		for i := range dst {
			dst[i] = T(c.Int(first + i))
		}
	}
	setNulls(c, first, dst, null)
}

// setNulls makes the rows from row first without a value null.
func setNulls[T any](c *Column, first int, dst []T, null T) {
	if c.nulls == nil && c.encoding != blockEmpty {
		return
	}
	for i := range dst {
		if c.IsNull(first + i) {
			dst[i] = null
		}
	}
}

// Least is the least value of a block of ints, 0 of other blocks.
func (c *Column) Least() int64 { return c.least }

// Ints is how many ints there are from the least to the greatest, none in a block without values; fits is false if they are more than most.
func (c *Column) Ints(most int) (count int, fits bool) {
	if c.encoding == blockEmpty {
		return 0, true
	}
	apart := uint64(c.greatest) - uint64(c.least)
	return int(apart) + 1, apart < uint64(most)
}

// ReadOffsets fills dst with the first rows of a block of strings, or of ints that are not far apart. A row becomes the place of its text in the table,
// or the distance of its int from the least, plus base, and a row without a value becomes 0.
func (c *Column) ReadOffsets(dst []uint32, base uint32) {
	if c.values.width == 1 {
		for i, x := range c.values.b[:len(dst)] {
			dst[i] = base + uint32(x)
		}
	} else {
		for i := range dst {
			dst[i] = base + uint32(c.values.At(i))
		}
	}
	setNulls(c, 0, dst, 0)
}

// float is row i of a block of floats, which is not null.
func (c *Column) float(i int) float64 {
	switch c.values.width {
	case 0:
		return c.leastF
	case 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(c.values.b[4*i:])))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(c.values.b[8*i:]))
}

// ReadFloats fills dst with the first rows of a block of floats. A row without a value is NaN, which no value is.
func (c *Column) ReadFloats(dst []float64) {
	switch b := c.values.b; {
	case c.encoding == blockEmpty:
	case c.values.width == 4:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		}
	default:
		for i := range dst {
			dst[i] = c.float(i)
		}
	}
	setNulls(c, 0, dst, math.NaN())
}

// Bounds are the least and the greatest value; null if all are.
func (c *Column) Bounds(k Kind) (least, greatest Value) {
	switch {
	case c.encoding == blockInts && k == KindBool:
		return BoolValue(c.least != 0), BoolValue(c.greatest != 0)
	case c.encoding == blockInts:
		return IntValue(c.least), IntValue(c.greatest)
	case c.encoding == blockFloats:
		return FloatValue(c.leastF), FloatValue(c.greatestF)
	case c.encoding == blockStrings:
		return StringValue(string(c.Text(0))), StringValue(string(c.Text(len(c.ends) - 1)))
	}
	return Value{}, Value{}
}

// Texts is the number of strings in the table.
func (c *Column) Texts() int { return len(c.ends) }

// Size is the bytes that it takes beside the body.
func (c *Column) Size() int64 { return int64(4 * cap(c.ends)) }

// TextAt is which string of the table row i has; false if it has none.
func (c *Column) TextAt(i int) (n int, ok bool) {
	if c.encoding != blockStrings || c.IsNull(i) {
		return 0, false
	}
	return int(c.values.At(i)), true
}

// Text is the n-th string of the table.
func (c *Column) Text(n int) []byte {
	start := uint32(0)
	if n > 0 {
		start = c.ends[n-1]
	}
	return c.text[start:c.ends[n]]
}

// Cell is row i of a block as it is stored.
func (c *Column) Cell(i int, k Kind) Value {
	switch {
	case c.IsNull(i):
		return Value{}
	case c.encoding == blockFloats:
		return FloatValue(c.float(i))
	case c.encoding == blockStrings:
		return StringValue(string(c.Text(int(c.values.At(i)))))
	case k == KindBool:
		return BoolValue(c.Int(i) != 0)
	}
	return IntValue(c.Int(i))
}

// Set is the row of a block before it is encoded.
func (c *Cells) Set(row int, cell Value) {
	c.Present[row] = !cell.IsNull()
	switch {
	case c.floats != nil:
		c.floats[row] = math.Float64frombits(cell.num)
	case c.strs != nil:
		c.strs[row] = cell.str
	default:
		c.ints[row] = int64(cell.num)
	}
}

// Get is the inverse of set, of a row that is present.
func (c *Cells) Get(row int) Value {
	switch {
	case c.floats != nil:
		return FloatValue(c.floats[row])
	case c.strs != nil:
		return StringValue(c.strs[row])
	case c.kind == KindBool:
		return BoolValue(c.ints[row] != 0)
	}
	return IntValue(c.ints[row])
}
