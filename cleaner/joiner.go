package cleaner

import (
	"errors"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/naming"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A joiner makes rows of the joined predictions of the last run, as the run would have made them: see combination.
type joiner struct {
	tx       *kv.Tx
	mixture  *kv.Matrix  // P
	imported ops.Source  // U, with the columns of P
	weights  [][]float64 // of the groups; nil of a run that kept none
}

// newJoiner returns nil if no joined predictions are in force.
func newJoiner(tx *kv.Tx) (*joiner, error) {
	mixture, err := mixtureInForce(tx)
	if err != nil || mixture == nil {
		return nil, err
	}
	matrix, err := tx.Matrix(PredictionsMatrix)
	if err != nil {
		return nil, err
	}
	var kept keptClassifier
	if err := tx.Documents(predictionsSpace).Get(classifierKey, &kept); err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	return &joiner{tx: tx, mixture: mixture, imported: inOrderOf(matrix, mixture.Columns()), weights: kept.Weights}, nil
}

// group is the weights of a node's group.
func (j *joiner) group(v kv.NodeID) ([]float64, error) {
	if len(j.weights) == 1 {
		return j.weights[0], nil
	}
	value, err := j.tx.Value(v, splitColumn)
	if errors.Is(err, kv.ErrNoColumn) || err == nil && value.IsNull() {
		return j.weights[0], nil
	}
	if err != nil {
		return nil, err
	}
	split, err := ParseSplit(value.String())
	if err != nil {
		return nil, naming.Node(j.tx, v, err)
	}
	if split.teaches() {
		return j.weights[0], nil
	}
	return j.weights[1], nil
}

// join is the joined row of a node by what the built-in classifier predicts of it: that alone if there is no imported
// one.
func (j *joiner) join(v kv.NodeID, predicted []float64) ([]float32, error) {
	row, imported := make([]float32, j.mixture.Width()), make([]float32, j.mixture.Width())
	for k, p := range predicted {
		row[k] = float32(p)
	}
	if err := j.imported.Read(kv.Range{First: v, End: v + 1}, 0, len(imported), imported); err != nil || hasNaN(imported) {
		return row, err
	}
	weights, err := j.group(v)
	if err == nil && weights[1] > 0 {
		mix(weights, row, imported)
	}
	return row, err
}

// exchange is the joined row of a node whose imported predictions become others, nil if it stays as it is. The
// classifier's need not be known: the imported ones are a factor of the row.
func (j *joiner) exchange(v kv.NodeID, to []float32) ([]float32, error) {
	if j.weights == nil {
		return to, nil // until the next Clean
	}
	row, from, one := make([]float32, len(to)), make([]float32, len(to)), kv.Range{First: v, End: v + 1}
	if err := errors.Join(j.mixture.Read(one, 0, len(row), row), j.imported.Read(one, 0, len(from), from)); err != nil {
		return nil, err
	}
	weights, err := j.group(v)
	if err != nil || weights[1] == 0 || hasNaN(row) {
		return nil, err
	}
	if hasNaN(from) {
		mix(weights, row, to)
		return row, nil
	}
	logs, most := make([]float64, len(row)), math.Inf(-1)
	for k, p := range row {
		difference := labelmodel.LogFeature(to[k]) - labelmodel.LogFeature(from[k])
		logs[k] = elementary.Log(max(float64(p), math.SmallestNonzeroFloat32)) + float64(weights[1]*difference)
		most = max(most, logs[k])
	}
	sum := 0.0
	for k := range logs {
		logs[k] = elementary.Exp(logs[k] - most)
		sum += logs[k]
	}
	for k := range logs {
		row[k] = float32(logs[k] / sum)
	}
	return row, nil
}

// replace writes the joined row of a node whose imported predictions become others, in the columns of
// PredictionsMatrix.
func (j *joiner) replace(v kv.NodeID, columns []string, row []float32, write func(matrix string, v kv.NodeID, row []float32) error) error {
	if j == nil {
		return nil
	}
	to := make([]float32, j.mixture.Width())
	inClasses(j.mixture.Columns(), columns, row, to)
	row, err := j.exchange(v, to)
	if err != nil {
		return fmt.Errorf("joined predictions: %w", err)
	}
	if row == nil {
		return nil
	}
	return write(CombinedMatrix, v, row)
}

// mix turns a row of B into one of P.
func mix(weights []float64, own, from []float32) {
	c := len(own)
	var few [64]float64
	numbers := few[:]
	if 2*c > len(few) {
		numbers = make([]float64, 2*c)
	}
	logs, fromLogs := numbers[:c], numbers[c:2*c]
	labelmodel.LogFeatures(own, logs)
	labelmodel.LogFeatures(from, fromLogs)
	most := float32(math.Inf(-1))
	for k := range own {
		own[k] = float32(float64(weights[0]*logs[k]) + float64(weights[1]*fromLogs[k]))
		most = max(most, own[k])
	}
	for k := range own {
		logs[k] = float64(own[k] - most)
	}
	elementary.Exps(logs)
	var sum float32
	for k, e := range logs {
		own[k] = float32(e)
		sum += own[k]
	}
	for k := range own {
		own[k] /= sum
	}
}
