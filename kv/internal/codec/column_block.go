package codec

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

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
	if r.Failed || c.encoding != blockForm(k) && encoding != blockEmpty {
		return fmt.Errorf("%w: not a block of a %s column", record.ErrCorrupt, k)
	}
	switch c.encoding {
	case blockInts:
		c.least, c.greatest = r.varint(), r.varint()
		c.parseValues(&r, int(r.byte()))
	case blockFloats:
		c.leastF, c.greatestF = math.Float64frombits(r.uint64()), math.Float64frombits(r.uint64())
		c.parseValues(&r, floatWidth(k))
	case blockStrings:
		c.parseTable(&r)
		c.parseValues(&r, int(r.byte()))
	}
	if r.Failed || len(r.Rest) > 0 || !c.consistent(k) {
		return fmt.Errorf("%w: a damaged block of a %s column", record.ErrCorrupt, k)
	}
	return nil
}

// floatWidth is the number of bytes of a value of a column of floats.
func floatWidth(k Kind) int {
	if k == KindSingle {
		return 4
	}
	return 8
}

func (c *Column) parseValues(r *Reader, width int) {
	c.values = uints{r.Bytes(c.Count * width), width}
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

// consistent checks what the encoding promises of the values, as far as reading them relies on it.
func (c *Column) consistent(k Kind) bool {
	switch c.encoding {
	case blockInts:
		return c.least <= c.greatest && c.values.width == byteWidth(uint64(c.greatest)-uint64(c.least)) &&
			(k != KindBool || c.least >= 0 && c.greatest <= 1) &&
			(k != KindClass || c.least >= 0 && c.greatest <= math.MaxInt32)
	case blockFloats:
		return c.leastF <= c.greatestF
	case blockStrings:
		if len(c.ends) == 0 || c.values.width != byteWidth(uint64(len(c.ends)-1)) {
			return false
		}
		for i := range c.Count {
			if c.values.At(i) >= uint64(len(c.ends)) {
				return false
			}
		}
	}
	return true
}

// IsNull says whether row i has no value.
func (c *Column) IsNull(i int) bool {
	return c.encoding == blockEmpty || c.nulls != nil && c.nulls[i/8]&(1<<(i%8)) != 0
}

// Int is row i of a block of ints, which is not null.
func (c *Column) Int(i int) int64 { return int64(uint64(c.least) + c.values.At(i)) }

// setNulls makes the first rows without a value null.
func setNulls[T any](c *Column, dst []T, null T) {
	if c.nulls == nil && c.encoding != blockEmpty {
		return
	}
	for i := range dst {
		if c.IsNull(i) {
			dst[i] = null
		}
	}
}

// Least is the least value of a block of ints, 0 of other blocks.
func (c *Column) Least() int64 { return c.least }

// Ints is how many ints there are from the least to the greatest, none in a block without values; fits is false if they
// are more than most.
func (c *Column) Ints(most int) (count int, fits bool) {
	if c.encoding == blockEmpty {
		return 0, true
	}
	apart := uint64(c.greatest) - uint64(c.least)
	return int(apart) + 1, apart < uint64(most)
}

// ReadOffsets fills dst with the first rows of a block of strings, or of ints that are not far apart. A row becomes the
// place of its text in the table, or the distance of its int from the least, plus base, and a row without a value
// becomes 0.
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
	setNulls(c, dst, 0)
}

// float is row i of a block of floats, which is not null.
func (c *Column) float(i int) float64 {
	if c.values.width == 4 {
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
	setNulls(c, dst, math.NaN())
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
