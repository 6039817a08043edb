package cleaner

import (
	"errors"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// An agreement holds the agreement features of one vector of labels under test, [rows×width].
type agreement struct {
	rows, width             int
	rowStride, columnStride int
	values                  *scratch.Array[float32]
}

// byColumn keeps features column after column: a hop then writes two stretches of memory from end to end, and not a
// number or two of every row.
func byColumn(values *scratch.Array[float32], rows, width int) *agreement {
	return &agreement{rows: rows, width: width, rowStride: 1, columnStride: rows, values: values}
}

// byRow keeps features row after row, for who reads rows in no order.
func byRow(values *scratch.Array[float32], rows, width int) *agreement {
	return &agreement{rows: rows, width: width, rowStride: width, columnStride: 1, values: values}
}

// Width is the number of features.
func (z *agreement) Width() int { return z.width }

// Read is that of an ops.Source.
func (z *agreement) Read(rows kv.Range, lo, hi int, dst []float32) error {
	if lo < 0 || hi < lo || hi > z.width || rows.End < rows.First || int(rows.End) > z.rows {
		return fmt.Errorf("agreement features: got rows %d to %d and columns %d to %d of %d×%d: %w",
			rows.First, rows.End, lo, hi, z.rows, z.width, ErrShape)
	}
	values := z.values.Data
	// To ask for the pages of a few rows takes longer than it saves.
	const leastAhead = 1 << 10
	if z.rowStride == 1 && rows.Len() >= leastAhead {
		for f := lo; f < hi; f++ {
			at := f * z.columnStride
			z.values.WillRead(at+int(rows.First), at+int(rows.End))
		}
	}
	for f := lo; f < hi; f++ {
		at, to := int(rows.First)*z.rowStride+f*z.columnStride, f-lo
		for range int(rows.End - rows.First) {
			dst[to] = values[at]
			at += z.rowStride
			to += hi - lo
		}
	}
	return nil
}

// Close gives the memory or the file back.
func (z *agreement) Close() error { return z.values.Close() }

// blank makes a row NaN.
func (z *agreement) blank(row int) {
	for f := range z.width {
		z.values.Data[row*z.rowStride+f*z.columnStride] = float32(math.NaN())
	}
}

// closeAll gives memory and files back.
func closeAll(all []*agreement) (err error) {
	for _, z := range all {
		err = errors.Join(err, z.Close())
	}
	return err
}
