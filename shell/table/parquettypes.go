package table

import (
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

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
