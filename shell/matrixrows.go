package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/internal/namelist"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/npy"
)

// nodesRead is how many consecutive nodes are read from a matrix at once.
const nodesRead = 1024

// matrixRows yields the rows of a matrix in the order of the nodes file until ctx ends, borrowed until the next step.
// The store has them in another order, so they are gathered in batches as large as memory (bytes) allows, each in one
// pass over the nodes.
func matrixRows(ctx context.Context, tx *kv.Tx, matrix *kv.Matrix, memory int64) iter.Seq2[[]float32, error] {
	width := matrix.Width()
	size := int(min(max(memory/int64(4*width+16), nodesRead), int64(tx.NumNodes())))
	values := make([]float32, size*width)
	return func(yield func([]float32, error) bool) {
		var nodes []kv.NodeID
		flush := func() bool {
			err := gather(ctx, tx, matrix, nodes, values)
			for i := range nodes {
				if i%nodesRead == 0 { // who takes the rows may take long over each
					err = cmp.Or(err, ctx.Err())
				}
				if !yield(values[i*width:(i+1)*width], err) || err != nil {
					return false
				}
			}
			nodes = nodes[:0]
			return true
		}
		for v, err := range tx.InFileOrder() {
			if err != nil {
				yield(nil, err)
				return
			}
			if nodes = append(nodes, v); len(nodes) == size && !flush() {
				return
			}
		}
		flush()
	}
}

// predictionRows yields the predictions of every node in the order of the nodes file, borrowed until the next step. The
// columns are all classes of the store in the order of namelist.Sorted, whichever of them the matrix has and where; a
// class that it has no column for is 0.
func predictionRows(ctx context.Context, tx *kv.Tx, memory int64) (
	classes []string, rows iter.Seq2[[]float32, error], err error,
) {
	matrix, err := tx.Matrix(cleaner.PredictionsMatrix)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil, errors.New("the store has no predictions: import some, or run predict")
	}
	if err != nil {
		return nil, nil, err
	}
	classes = namelist.Sorted(tx.Classes())
	columns := matrix.Columns()
	places := make([]int, len(columns)) // in classes
	for j, name := range columns {
		if places[j] = slices.Index(classes, name); places[j] < 0 {
			return nil, nil, fmt.Errorf("predictions of class %q, which the store does not have: %w", name, kv.ErrCorrupt)
		}
	}
	return classes, func(yield func([]float32, error) bool) {
		values := make([]float32, len(classes))
		for row, err := range matrixRows(ctx, tx, matrix, memory) {
			for j, p := range row {
				values[places[j]] = p
			}
			if !yield(values, err) || err != nil {
				return
			}
		}
	}, nil
}

// gather reads the rows of nodes into dst [len(nodes)×width].
func gather(ctx context.Context, tx *kv.Tx, matrix *kv.Matrix, nodes []kv.NodeID, dst []float32) error {
	width := matrix.Width()
	places := make([]int, len(nodes)) // in nodes, by ascending NodeID
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(i, j int) int { return int(int64(nodes[i]) - int64(nodes[j])) })
	block := make([]float32, nodesRead*width)
	for len(places) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		first := nodes[places[0]] / nodesRead * nodesRead
		rows := kv.Range{First: first, End: kv.NodeID(min(int64(first)+nodesRead, int64(tx.NumNodes())))}
		if err := matrix.Read(rows, 0, width, block[:int(rows.End-rows.First)*width]); err != nil {
			return err
		}
		for len(places) > 0 && nodes[places[0]] < rows.End {
			from := int(nodes[places[0]]-first) * width
			copy(dst[places[0]*width:(places[0]+1)*width], block[from:from+width])
			places = places[1:]
		}
	}
	return nil
}

// writeArray writes predictions or features as float32 .npy.
func (c *exportCommand) writeArray(
	ctx context.Context, tx *kv.Tx, out io.Writer, s *streams,
) (err error) {
	if c.What == "predictions" {
		classes, predictions, err := predictionRows(ctx, tx, c.work())
		if err != nil {
			return err
		}
		return npy.Write(out, tx.Shape().Present, len(classes), predictions)
	}
	hops := 0
	switch run, err := cleaner.LastRun(tx); {
	case err == nil:
		hops = run.Hops
		s.say("Features of %d hops, as of run %d.", hops, run.ID)
	case !errors.Is(err, cleaner.ErrNotCleaned):
		return err
	}
	features, err := cleaner.Features(ctx, tx, hops, ops.Options{
		MemoryBudget: c.work(),
		Workers:      c.Threads,
		Progress:     s.progress.report,
		OnStage:      s.stages.add,
	})
	if errors.Is(err, kv.ErrNotFound) {
		return errors.New("features need predictions, and the store has none: import some, or run predict")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, features.Close()) }()
	row := make([]float32, features.Width())
	return npy.Write(out, tx.Shape().Present, len(row), func(yield func([]float32, error) bool) {
		for v, err := range tx.InFileOrder() {
			if err = cmp.Or(err, ctx.Err()); err == nil {
				err = features.Read(kv.Range{First: v, End: v + 1}, 0, len(row), row)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	})
}
