package table

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

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
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
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
				return dst, fmt.Errorf("got a decimal of %d bytes, want at most %d", len(bytes), mostDecimal)
			}
			if unscaled.SetBytes(bytes); len(bytes) > 0 && bytes[0]&0x80 != 0 {
				unscaled.Sub(unscaled, new(big.Int).Lsh(big.NewInt(1), uint(8*len(bytes))))
			}
		}
		return append(dst, new(big.Rat).SetFrac(unscaled, power).FloatString(scale)...), nil
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

// uuidText appends a UUID as text.
func uuidText(dst []byte, v parquet.Value) ([]byte, error) {
	b := v.ByteArray()
	if len(b) != 16 {
		return dst, fmt.Errorf("got a UUID of %d bytes, want 16", len(b))
	}
	return fmt.Appendf(dst, "%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}

// isBinary says whether a column has bytes that its file does not call text. Old writers call no text so.
func isBinary(column *parquet.Column) bool {
	of := column.Type()
	return of.LogicalType() == nil && (of.Kind() == parquet.FixedLenByteArray || of.Kind() == parquet.ByteArray &&
		of.ConvertedType() == nil)
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
