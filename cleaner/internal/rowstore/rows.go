// Package rowstore keeps matrices in scratch arrays, and reads any source of rows block by block. It knows nothing of
// what the columns mean.
package rowstore

import (
	"context"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// BlockValues is how many values of a source Each reads at once: 1 MiB.
const BlockValues = 1 << 18

// AtOnce is how many rows of a width Each reads at once.
func AtOnce(width int) int {
	step := 1 // a power of two, so that reads fall on the blocks of a stored matrix
	for step*2*max(width, 1) <= BlockValues {
		step *= 2
	}
	return step
}

// Each reads a source of n rows from end to end, all columns of a block of rows at a time, and calls visit for each
// block, concurrently where workers (0: GOMAXPROCS) is not 1, else ascending. values is borrowed for the call.
func Each(
	ctx context.Context, src ops.Source, n, workers int, visit func(rows kv.Range, values []float32) error,
) error {
	width, step := src.Width(), AtOnce(src.Width())
	blocks := (n + step - 1) / step
	values := make([][]float32, parallel.Workers(workers)) // a block, by worker
	return parallel.Do(ctx, len(values), blocks, func(_ context.Context, worker, b int) error {
		if values[worker] == nil {
			values[worker] = make([]float32, min(step, n)*width)
		}
		rows := kv.Range{First: kv.NodeID(b * step), End: kv.NodeID(min((b+1)*step, n))}
		block := values[worker][:int(rows.End-rows.First)*width]
		if err := src.Read(rows, 0, width, block); err != nil {
			return err
		}
		return visit(rows, block)
	})
}

// EachRow is Each with every row by itself, ascending within a block.
func EachRow(
	ctx context.Context, src ops.Source, n, workers int, visit func(v kv.NodeID, row []float32) error,
) error {
	width := src.Width()
	return Each(ctx, src, n, workers, func(rows kv.Range, values []float32) error {
		for v := rows.First; v < rows.End; v++ {
			if err := visit(v, values[int(v-rows.First)*width:][:width]); err != nil {
				return err
			}
		}
		return nil
	})
}

// EachOf reads the rows of ascending nodes, near ones together, and calls visit for each; row is borrowed.
func EachOf(
	ctx context.Context, src ops.Source, nodes []kv.NodeID, visit func(v kv.NodeID, row []float32) error,
) error {
	const (
		gap  = 16  // nodes further apart are read apart
		span = 512 // rows read together at most
	)
	c := src.Width()
	var values []float32
	for from := 0; from < len(nodes); {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := from + 1
		for to < len(nodes) && nodes[to]-nodes[to-1] <= gap && nodes[to]-nodes[from] < span {
			to++
		}
		rows := kv.Range{First: nodes[from], End: nodes[to-1] + 1}
		values = slices.Grow(values[:0], int(rows.End-rows.First)*c)[:int(rows.End-rows.First)*c]
		if err := src.Read(rows, 0, c, values); err != nil {
			return err
		}
		for _, v := range nodes[from:to] {
			if err := visit(v, values[int(v-rows.First)*c:][:c]); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}
