package table

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// appendText appends the text of a value. An error says why it has none.
type appendText func(dst []byte, v parquet.Value) ([]byte, error)

// textOf returns how a column's values read as text, nil if they are text; false if they cannot be read.
func textOf(column *parquet.Column) (asText appendText, ok bool) {
	if !column.Leaf() || column.Repeated() {
		return nil, false
	}
	var logical format.LogicalTypeValue
	if t := column.Type().LogicalType(); t != nil {
		logical = t.Value
	}
	switch t := logical.(type) {
	case *format.DecimalType, *format.TimeType, *format.UUIDType:
		return nil, false
	case *format.DateType:
		return func(dst []byte, v parquet.Value) ([]byte, error) {
			return appendTime(dst, time.Unix(int64(v.Int32())*24*60*60, 0), time.DateOnly)
		}, true
	case *format.TimestampType:
		if t.Unit.Value == nil {
			return nil, false
		}
		unit := t.Unit.Value.Duration()
		perSecond := int64(time.Second / unit)
		// All texts of a column have as many digits, so that their order is that of the times.
		layout := "2006-01-02T15:04:05." + strconv.FormatInt(perSecond, 10)[1:] + "Z"
		return func(dst []byte, v parquet.Value) ([]byte, error) {
			seconds, rest := v.Int64()/perSecond, v.Int64()%perSecond
			return appendTime(dst, time.Unix(seconds, rest*int64(unit)), layout)
		}, true
	case *format.IntType:
		if !t.IsSigned {
			if column.Type().Kind() == parquet.Int32 {
				return func(dst []byte, v parquet.Value) ([]byte, error) {
					return strconv.AppendUint(dst, uint64(v.Uint32()), 10), nil
				}, true
			}
			return func(dst []byte, v parquet.Value) ([]byte, error) {
				return strconv.AppendUint(dst, v.Uint64(), 10), nil
			}, true
		}
	}
	switch column.Type().Kind() {
	case parquet.Boolean:
		return func(dst []byte, v parquet.Value) ([]byte, error) { return strconv.AppendBool(dst, v.Boolean()), nil }, true
	case parquet.Int32:
		return func(dst []byte, v parquet.Value) ([]byte, error) {
			return strconv.AppendInt(dst, int64(v.Int32()), 10), nil
		}, true
	case parquet.Int64:
		return func(dst []byte, v parquet.Value) ([]byte, error) { return strconv.AppendInt(dst, v.Int64(), 10), nil }, true
	case parquet.Float:
		return func(dst []byte, v parquet.Value) ([]byte, error) {
			return appendFloat(dst, float64(v.Float()), 32), nil
		}, true
	case parquet.Double:
		return func(dst []byte, v parquet.Value) ([]byte, error) { return appendFloat(dst, v.Double(), 64), nil }, true
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return nil, true
	}
	return nil, false
}

// appendTime appends a time as text. Texts of years beyond four digits have another order than their times.
func appendTime(dst []byte, t time.Time, layout string) ([]byte, error) {
	t = t.UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		return dst, fmt.Errorf("got the time %s, want one of the years 0 to 9999", t.Format(time.RFC3339))
	}
	return t.AppendFormat(dst, layout), nil
}

// isBinary says whether a column has bytes that its file does not call text. Old writers call no text so.
func isBinary(column *parquet.Column) bool {
	of := column.Type()
	return of.LogicalType() == nil && (of.Kind() == parquet.FixedLenByteArray || of.Kind() == parquet.ByteArray &&
		of.ConvertedType() == nil)
}

// appendFloat appends a number as text. NaN, with which floats say that a value is missing, is none. A whole one reads
// as the integer that other files have for it: ids are floats where pandas found one missing.
func appendFloat(dst []byte, x float64, bits int) []byte {
	const most = 1 << 53 // a float of 64 bits keeps all integers up to it
	if math.IsNaN(x) {
		return dst
	}
	if x == math.Trunc(x) && math.Abs(x) <= most {
		return strconv.AppendInt(dst, int64(x), 10)
	}
	return strconv.AppendFloat(dst, x, 'g', -1, bits)
}
