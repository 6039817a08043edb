package table

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/graphcleaner/graphcleaner/shell/npy"
)

// dropNullType takes a type from the columns of a file that says they have nothing but nulls: the decoder has no values of it. What is left is
// the type in which the nulls are stored.
func dropNullType(schema []format.SchemaElement) {
	for i := range schema {
		if _, isNull := schema[i].LogicalType.Value.(*format.NullType); isNull {
			schema[i].LogicalType.Value = nil
		}
	}
}

// halvesOf are the columns of values that have floats of 16 bits. The decoder knows no such type, and takes them for
// bytes.
func halvesOf(schema []format.SchemaElement) (halves []int) {
	leaf := 0
	for _, element := range schema[min(1, len(schema)):] {
		if _, isHalf := element.LogicalType.Value.(*format.Float16Type); isHalf {
			halves = append(halves, leaf)
		}
		if element.NumChildren.V == 0 {
			leaf++
		}
	}
	return halves
}

// mostScale bounds the digits of a decimal, and mostDecimal its bytes: no decimal of 256 bits has more.
const (
	mostScale   = 76
	mostDecimal = 32
)

// decimalText returns how decimals read as text: with as many digits behind the point as their type says.
func decimalText(of *format.DecimalType, kind parquet.Kind) (appendText, bool) {
	scale := int(of.Scale)
	if scale < 0 || scale > mostScale {
		return nil, false
	}
	return func(dst []byte, v parquet.Value) ([]byte, error) {
		unscaled := new(big.Int)
		switch kind {
		case parquet.Int32:
			unscaled.SetInt64(int64(v.Int32()))
		case parquet.Int64:
			unscaled.SetInt64(v.Int64())
		default:
			bytes := v.ByteArray()
			if len(bytes) > mostDecimal {
				return dst, valueError(fmt.Sprintf("got a decimal of %d bytes, want at most %d", len(bytes), mostDecimal))
			}
			if unscaled.SetBytes(bytes); len(bytes) > 0 && bytes[0]&0x80 != 0 {
				unscaled.Sub(unscaled, new(big.Int).Lsh(big.NewInt(1), uint(8*len(bytes))))
			}
		}
		digits := new(big.Int).Abs(unscaled).String()
		if missing := scale + 1 - len(digits); missing > 0 {
			digits = strings.Repeat("0", missing) + digits
		}
		if unscaled.Sign() < 0 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[:len(digits)-scale]...)
		if scale > 0 {
			dst = append(append(dst, '.'), digits[len(digits)-scale:]...)
		}
		return dst, nil
	}, true
}

// clockText returns how times of the day read as text: all of a column with as many digits, so that their order is that of the times.
func clockText(of *format.TimeType, kind parquet.Kind) (appendText, bool) {
	if of.Unit.Value == nil {
		return nil, false
	}
	unit := of.Unit.Value.Duration()
	layout := "15:04:05." + fmt.Sprint(int64(time.Second / unit))[1:]
	return func(dst []byte, v parquet.Value) ([]byte, error) {
		units := int64(v.Int32())
		if kind == parquet.Int64 {
			units = v.Int64()
		}
		if units < 0 || units >= int64(24*time.Hour/unit) {
			return dst, valueError(fmt.Sprintf("got the time of day %d × %v, want one from 0 to 24 hours", units, unit))
		}
		return time.Unix(0, units*int64(unit)).UTC().AppendFormat(dst, layout), nil
	}, true
}

// int96Text appends a time of 96 bits, as Spark and Hive have long written times: nanoseconds of the day, and the
// Julian day.
func int96Text(dst []byte, v parquet.Value) ([]byte, error) {
	const epoch = 2440588 // the Julian day of 1970-01-01
	t := v.Int96()
	nanoseconds := int64(t[1])<<32 | int64(t[0])
	return appendTime(dst, time.Unix((int64(t[2])-epoch)*24*60*60, nanoseconds), "2006-01-02T15:04:05.000000000Z")
}

// halfText appends a float of 16 bits.
func halfText(dst []byte, v parquet.Value) ([]byte, error) {
	bytes := v.ByteArray()
	if len(bytes) != 2 {
		return dst, valueError(fmt.Sprintf("got a 16-bit float of %d bytes, want 2", len(bytes)))
	}
	return appendFloat(dst, npy.Half(binary.LittleEndian.Uint16(bytes)), 32), nil
}

// uuidText appends a UUID as text.
func uuidText(dst []byte, v parquet.Value) ([]byte, error) {
	bytes := v.ByteArray()
	if len(bytes) != 16 {
		return dst, valueError(fmt.Sprintf("got a UUID of %d bytes, want 16", len(bytes)))
	}
	dst = hex.AppendEncode(dst, bytes[:4])
	for i := 4; i < 10; i += 2 {
		dst = hex.AppendEncode(append(dst, '-'), bytes[i:i+2])
	}
	return hex.AppendEncode(append(dst, '-'), bytes[10:]), nil
}

// isBytes says whether the values of a column are views of its pages.
func isBytes(column *parquet.Column) bool {
	kind := column.Type().Kind()
	return column.Leaf() && (kind == parquet.ByteArray || kind == parquet.FixedLenByteArray)
}

// isBinary says whether a column has bytes that its file does not call text. Old writers call no text so.
func isBinary(column *parquet.Column) bool {
	if !column.Leaf() {
		return false
	}
	of := column.Type()
	return isBytes(column) && of.LogicalType() == nil &&
		(of.ConvertedType() == nil || of.Kind() == parquet.FixedLenByteArray)
}

// appendFloat appends a number as text. A whole one reads as the integer that other files have for it: ids are floats
// where pandas found one missing.
func appendFloat(dst []byte, x float64, bits int) []byte {
	const most = 1 << 53 // a float of 64 bits keeps all integers up to it
	if x == math.Trunc(x) && math.Abs(x) <= most {
		return strconv.AppendInt(dst, int64(x), 10)
	}
	return strconv.AppendFloat(dst, x, 'g', -1, bits)
}

// isFloat says whether the values of a column are numbers of floating point.
func isFloat(column *parquet.Column) bool {
	return column.Leaf() && (column.Type().Kind() == parquet.Float || column.Type().Kind() == parquet.Double)
}

// leavesOf is how many columns of values lie in a column.
func leavesOf(column *parquet.Column) int {
	if column.Leaf() {
		return 1
	}
	count := 0
	for _, part := range column.Columns() {
		count += leavesOf(part)
	}
	return count
}
