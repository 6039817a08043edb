package cleaner

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// Predictions returns the stored predictions [n×c], columns in the order of tx.Classes; a class that the matrix has no
// column for is 0, and the row of a removed node is NaN. kv.ErrNotFound when there are none; ErrMissingRows names the
// first node in file order without a row.
func Predictions(tx *kv.Tx) (ops.Source, error) {
	matrix, err := tx.Matrix(PredictionsMatrix)
	if err != nil {
		return nil, err
	}
	if err := checkRows(context.Background(), tx, matrix); err != nil {
		return nil, err
	}
	return inClassOrder(tx, matrix), nil
}

// Predicted returns a reader of the likeliest class of a node and its probability, by the predictions that the node is
// scored by: the stored ones, or the joined ones of the last run. Of a node without predictions, the class is
// kv.NoClass.
func Predicted(tx *kv.Tx) (at func(v kv.NodeID) (class kv.Class, chance float64, err error), err error) {
	matrix, err := scoredFrom(tx, nil)
	if errors.Is(err, kv.ErrNotFound) {
		return func(kv.NodeID) (kv.Class, float64, error) { return kv.NoClass, 0, nil }, nil
	}
	if err != nil {
		return nil, err
	}
	predictions := inClassOrder(tx, matrix)
	row := make([]float32, predictions.Width())
	return func(v kv.NodeID) (class kv.Class, chance float64, err error) {
		if err := predictions.Read(kv.Range{First: v, End: v + 1}, 0, len(row), row); err != nil {
			return kv.NoClass, 0, err
		}
		class, most, _ := largest(row)
		if !(most > 0) { // a row of NaN, or of zeros
			return kv.NoClass, 0, nil
		}
		return class, float64(most), nil
	}, nil
}

// inClassOrder is a matrix of predictions with a column for each class of the store.
func inClassOrder(tx *kv.Tx, matrix *kv.Matrix) ops.Source {
	return ofClasses(matrix, len(tx.Classes()))
}

// ofClasses is a matrix of predictions with columns for so many classes, the first of the store.
func ofClasses(matrix *kv.Matrix, classes int) ops.Source {
	if matrix.Width() == classes {
		return matrix
	}
	return fittedMatrix{matrix, classes}
}

// checkRows returns ErrMissingRows if some node has no row.
func checkRows(ctx context.Context, tx *kv.Tx, matrix *kv.Matrix) error {
	missing, err := nodesWithoutRow(ctx, tx, matrix)
	if err != nil || missing.Len() == 0 {
		return err
	}
	return missingRows(tx, missing.Has)
}

// countUnpredicted counts the nodes that have no predictions to be scored by.
func countUnpredicted(ctx context.Context, tx *kv.Tx) (int64, error) {
	matrix, err := scoredFrom(tx, nil)
	if errors.Is(err, kv.ErrNotFound) {
		return int64(tx.Shape().Present), nil
	}
	if err != nil {
		return 0, err
	}
	missing, err := nodesWithoutRow(ctx, tx, matrix)
	return int64(missing.Len()), err
}

// nodesWithoutRow are those whose row of predictions was never written: its first column is NaN. Removed nodes are not
// among them.
func nodesWithoutRow(ctx context.Context, tx *kv.Tx, matrix *kv.Matrix) (kv.NodeSet, error) {
	n := tx.NumNodes()
	missing := bitset.New[kv.NodeID](n)
	removed, err := tx.Removed()
	if err != nil || matrix.Width() == 0 {
		return missing, err
	}
	const step = 1 << 16
	values := make([]float32, min(step, n))
	for first := 0; first < n; first += step {
		rows := kv.Range{First: kv.NodeID(first), End: kv.NodeID(min(first+step, n))}
		err := ctx.Err()
		if err == nil {
			err = matrix.Read(rows, 0, 1, values[:rows.Len()])
		}
		if err != nil {
			return missing, err
		}
		for i, p := range values[:rows.Len()] {
			if v := rows.First + kv.NodeID(i); p != p && !removed.Has(v) {
				missing.Add(v)
			}
		}
	}
	return missing, nil
}

// predictionSource is where the stored predictions come from.
func predictionSource(tx *kv.Tx) (string, error) {
	var source string
	if err := tx.Documents(predictionsSpace).Get(sourceKey, &source); err != nil && !errors.Is(err, kv.ErrNotFound) {
		return "", err
	}
	if source == "" {
		source = SourceImported
	}
	return source, nil
}

// A fittedMatrix has the first columns of a matrix, and columns of zeros after the last of it.
type fittedMatrix struct {
	matrix *kv.Matrix
	width  int
}

func (s fittedMatrix) Width() int { return s.width }

func (s fittedMatrix) Read(rows kv.Range, lo, hi int, dst []float32) error {
	end := min(hi, s.matrix.Width())
	if end == hi {
		return s.matrix.Read(rows, lo, hi, dst)
	}
	clear(dst[:rows.Len()*(hi-lo)])
	if lo >= end {
		return nil
	}
	values := make([]float32, rows.Len()*(end-lo))
	if err := s.matrix.Read(rows, lo, end, values); err != nil {
		return err
	}
	for r := range rows.Len() {
		copy(dst[r*(hi-lo):], values[r*(end-lo):][:end-lo])
	}
	return nil
}

func hasNaN(row []float32) bool {
	return slices.ContainsFunc(row, func(x float32) bool { return math.IsNaN(float64(x)) })
}
