package cleaner

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
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

// sum is a checksum of those features that come from the columns before end of [P | Y], whose number of columns is 2c,
// for labels under test [rows], over so many hops.
func (z *agreement) sum(ctx context.Context, labels []kv.Class, hops, c, end, workers int) (uint32, error) {
	return sumRows(ctx, z.rows, workers, func(text []byte, first, last int) []byte {
		for f := range z.width {
			column := z.values.Data[f*z.columnStride:]
			for r := first; r < last; r++ {
				y := int(labels[r])
				if f >= z.width-hops {
					y += c
				}
				if f == 0 || labels[r] == kv.NoClass || y < end {
					text = binary.LittleEndian.AppendUint32(text, math.Float32bits(column[r*z.rowStride]))
				}
			}
		}
		return text
	})
}

// arraySum is a checksum of an array.
func arraySum[T float32 | float64](ctx context.Context, values []T, workers int) (uint32, error) {
	return sumRows(ctx, len(values), workers, func(text []byte, first, end int) []byte {
		for _, x := range values[first:end] {
			text = binary.LittleEndian.AppendUint64(text, math.Float64bits(float64(x)))
		}
		return text
	})
}

// summedRows is how many rows are summed at once.
const summedRows = 1 << 16

// sumRows makes one checksum of those of blocks of rows; encode appends the rows first ≤ r < end.
func sumRows(
	ctx context.Context, rows, workers int, encode func(text []byte, first, end int) []byte,
) (uint32, error) {
	blocks := (rows + summedRows - 1) / summedRows
	sums := make([]uint32, blocks)
	texts := make([][]byte, parallel.Workers(workers))
	err := parallel.Do(ctx, len(texts), blocks, func(_ context.Context, worker, b int) error {
		texts[worker] = encode(texts[worker][:0], b*summedRows, min((b+1)*summedRows, rows))
		sums[b] = crc32c.Of(texts[worker])
		return nil
	})
	whole := uint32(len(sums))
	for _, sum := range sums {
		var b [8]byte
		binary.LittleEndian.PutUint32(b[:], whole)
		binary.LittleEndian.PutUint32(b[4:], sum)
		whole = crc32c.Of(b[:])
	}
	return whole, err
}

// detachAll gives memory back, and leaves what is kept.
func detachAll(all []*agreement) (err error) {
	for _, z := range all {
		err = errors.Join(err, z.values.Detach())
	}
	return err
}
