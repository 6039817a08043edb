package codec

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// ColumnRows is the number of consecutive nodes whose values one block holds.
const ColumnRows = 4096

// A column block has a number, greater than 0, for each value: the numbers ascend with the values. It is encoded as
//
//	count     uvarint     of rows, ≤ 4096
//	table                 of strings only:
//	  distinct  uvarint
//	  lengths   uvarints
//	  bytes               of all, one after the other, ascending
//	form      byte        0 to 8: bytes of each code; + 0x10 when some rows are null
//	base      uvarint     one less than the least number
//	codes     count×width little-endian: numbers less the base, 0 is null; without nulls, one less
//
// The number of a bool is 1 or 2, that of a class its number plus 1, that of a string its place in the table plus 1.
// Those of ints and floats are their bits, of which some are turned: see number.
const blockNulls = 0x10

// FitsBlock is false of the one value that has no number, the least int.
func FitsBlock(cell Value) bool { return cell != IntValue(math.MinInt64) }

// number is that of a value of a kind, except for strings.
func (k Kind) number(cell Value) uint64 {
	switch {
	case cell.IsNull():
		return 0
	case k == KindInt:
		return cell.num ^ 1<<63
	case k == KindFloat: // a negative one is turned whole, so that it descends with its size
		return cell.num ^ (uint64(int64(cell.num)>>63) | 1<<63)
	case k == KindSingle:
		b := math.Float32bits(float32(math.Float64frombits(cell.num)))
		return uint64(b ^ (uint32(int32(b)>>31) | 1<<31))
	}
	return cell.num + 1
}

// float is the float of a number.
func (k Kind) float(number uint64) float64 {
	if k == KindSingle {
		b := uint32(number)
		return float64(math.Float32frombits(b ^ (b>>31 - 1 | 1<<31)))
	}
	return math.Float64frombits(number ^ (number>>63 - 1 | 1<<63))
}

// AppendColumn appends a block of the values of a kind to b, all of which FitsBlock. A class is the int of its number.
func AppendColumn(b []byte, k Kind, cells []Value) []byte {
	b = binary.AppendUvarint(b, uint64(len(cells)))
	numbers := make([]uint64, len(cells))
	if k == KindString {
		b = appendTable(b, cells, numbers)
	} else {
		for i := range cells {
			numbers[i] = k.number(cells[i])
		}
	}
	least, greatest, form := uint64(math.MaxUint64), uint64(0), byte(0)
	for _, n := range numbers {
		if n == 0 {
			form = blockNulls
			continue
		}
		least, greatest = min(least, n), max(greatest, n)
	}
	base := min(least-1, greatest) // the latter if all are null
	subtract := base
	if form == 0 {
		subtract++
	}
	width := byteWidth(max(greatest, subtract) - subtract)
	b = binary.AppendUvarint(append(b, form|byte(width)), base)
	for _, n := range numbers {
		b = appendWidth(b, max(n, subtract)-subtract, width)
	}
	return b
}

// appendTable appends the table of a block of strings, and fills in their numbers.
func appendTable(b []byte, cells []Value, numbers []uint64) []byte {
	places := map[string]uint64{}
	for i := range cells {
		if !cells[i].IsNull() {
			places[cells[i].str] = 0
		}
	}
	table := slices.Sorted(maps.Keys(places))
	b = binary.AppendUvarint(b, uint64(len(table)))
	for i, s := range table {
		places[s] = uint64(i)
		b = binary.AppendUvarint(b, uint64(len(s)))
	}
	for _, s := range table {
		b = append(b, s...)
	}
	for i := range cells {
		if !cells[i].IsNull() {
			numbers[i] = places[cells[i].str] + 1
		}
	}
	return b
}

// A Column gives access to the rows of an encoded block without decoding all of them. It borrows the bytes it was
// parsed from.
type Column struct {
	Count int
	kind  Kind
	base  uint64
	first uint64 // the code that is encoded as 0
	codes uints
	ends  []uint32 // of strings: where each of the table ends in text
	text  []byte
}

// Parse reads a block of a column of a kind. After it every access is within bounds.
func (c *Column) Parse(k Kind, b []byte) error {
	r := Reader{Rest: b}
	*c = Column{kind: k, Count: int(r.Uvarint(ColumnRows)), first: 1}
	if k == KindString {
		end := uint32(0)
		for range r.Uvarint(ColumnRows) {
			end += uint32(r.Uvarint(MaxString))
			c.ends = append(c.ends, end)
		}
		c.text = r.Bytes(int(end))
	}
	width := int(r.byte())
	if width&blockNulls != 0 {
		width, c.first = width&^blockNulls, 0
	}
	c.base = r.Uvarint(math.MaxUint64)
	c.codes = uints{r.Bytes(c.Count * width), width}
	valid := !r.Failed && len(r.Rest) == 0 && width <= 8
	for i := 0; valid && k == KindString && i < c.Count; i++ {
		valid = c.base == 0 && c.code(i) <= uint64(len(c.ends))
	}
	if !valid {
		return fmt.Errorf("%w: a damaged block of a %s column", record.ErrCorrupt, k)
	}
	return nil
}

// Size is the bytes that it takes beside the body.
func (c *Column) Size() int64 { return int64(4 * cap(c.ends)) }

// code is that of row i, 0 of null.
func (c *Column) code(i int) uint64 { return c.codes.At(i) + c.first }

// Cell is row i as it is stored.
func (c *Column) Cell(i int) Value {
	if code := c.code(i); code != 0 {
		return c.value(code)
	}
	return Value{}
}

// value is that of a code greater than 0.
func (c *Column) value(code uint64) Value {
	number := c.base + code
	switch c.kind {
	case KindBool:
		return BoolValue(number > 1)
	case KindClass:
		return IntValue(int64(number - 1))
	case KindInt:
		return IntValue(int64(number ^ 1<<63))
	case KindString:
		start := uint32(0)
		if number > 1 {
			start = c.ends[number-2]
		}
		return StringValue(string(c.text[start:c.ends[number-1]]))
	}
	return FloatValue(c.kind.float(number))
}

// ReadFloats fills dst with the first rows of a block of floats. Null is NaN, which no value is.
func (c *Column) ReadFloats(dst []float64) {
	for i := range dst {
		if code := c.code(i); code != 0 {
			dst[i] = c.kind.float(c.base + code)
		} else {
			dst[i] = math.NaN()
		}
	}
}

// ReadNumbers fills dst with the numbers of the first rows of a block of classes, 0 of null.
func (c *Column) ReadNumbers(dst []uint32) {
	for i := range dst {
		number := c.code(i)
		if number != 0 {
			number = min(c.base+number, math.MaxUint32)
		}
		dst[i] = uint32(number)
	}
}

// ReadCodes fills dst with the codes of the first rows, and appends the values of the codes from 1 on to table. It
// returns false for a block of floats, and of ints that are too far apart to have codes of a byte.
func (c *Column) ReadCodes(dst []uint32, table []Value) (_ []Value, ok bool) {
	if c.kind != KindString && c.codes.width > 1 {
		return table, false
	}
	greatest := uint32(0)
	for i := range dst {
		dst[i] = uint32(c.code(i))
		greatest = max(greatest, dst[i])
	}
	for code := range greatest {
		table = append(table, c.value(uint64(code)+1))
	}
	return table, true
}
