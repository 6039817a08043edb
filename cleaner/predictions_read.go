package cleaner

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/naming"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/splitting"
	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// Predictions returns the stored predictions [n×c], columns in the order of tx.Classes; a class that the matrix has no
// column for is 0, and so is the row of a removed node. kv.ErrNotFound when there are none; ErrMissingRows names the
// first node in file order without a row.
func Predictions(tx *kv.Tx) (ops.Source, error) {
	matrix, err := tx.Matrix(PredictionsMatrix)
	if err != nil {
		return nil, err
	}
	if err := checkRows(tx, matrix); err != nil {
		return nil, err
	}
	return somePredictions(tx)
}

// somePredictions is Predictions in which the row of a node without predictions is NaN.
func somePredictions(tx *kv.Tx) (ops.Source, error) {
	matrix, err := tx.Matrix(PredictionsMatrix)
	if err != nil {
		return nil, err
	}
	removed, err := tx.Removed()
	if err != nil || removed == nil {
		return inClassOrder(tx, matrix), err
	}
	return zeroRemoved{inClassOrder(tx, matrix), removed}, nil
}

// zeroRemoved reads the rows of removed nodes, which have no edges, as zeros.
type zeroRemoved struct {
	ops.Source
	removed kv.NodeSet
}

func (s zeroRemoved) Read(rows kv.Range, lo, hi int, dst []float32) error {
	if err := s.Source.Read(rows, lo, hi, dst); err != nil {
		return err
	}
	for v := rows.First; v < rows.End; v++ {
		if s.removed.Has(v) {
			clear(dst[int(v-rows.First)*(hi-lo):][:hi-lo])
		}
	}
	return nil
}

// Predicted returns a reader of the likeliest class of a node and its probability, by the predictions that the node is
// scored by: the stored ones, or the joined ones of the last run. Of a node without predictions, the class is
// kv.NoClass.
func Predicted(tx *kv.Tx) (at func(v kv.NodeID) (class kv.Class, chance float64, err error), err error) {
	matrix, err := scoredFrom(tx)
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

// inClassOrder is a matrix of predictions with its columns in the order of tx.Classes.
func inClassOrder(tx *kv.Tx, matrix *kv.Matrix) ops.Source { return inOrderOf(matrix, tx.Classes()) }

// inOrderOf is a matrix of predictions with a column for each of some classes, in their order.
func inOrderOf(matrix *kv.Matrix, classes []string) ops.Source {
	columns := matrix.Columns()
	if slices.Equal(columns, classes) {
		return matrix
	}
	places := columnPlaces(columns)
	place := make([]int, len(classes))
	for i, name := range classes {
		if j, ok := places[name]; ok {
			place[i] = j
		} else {
			place[i] = -1
		}
	}
	return &reorderedMatrix{matrix: matrix, place: place}
}

// columnPlaces are the places of columns by name.
func columnPlaces(columns []string) map[string]int {
	places := make(map[string]int, len(columns))
	for j, name := range columns {
		places[name] = j
	}
	return places
}

// checkRows returns ErrMissingRows if some node has no row.
func checkRows(tx *kv.Tx, matrix *kv.Matrix) error {
	missing, any, err := nodesWithoutRow(tx, matrix)
	if err != nil || !any {
		return err
	}
	return missingRows(tx, missing.Has)
}

// countUnpredicted counts the nodes that have no predictions to be scored by.
func countUnpredicted(tx *kv.Tx) (count int64, err error) {
	matrix, err := scoredFrom(tx)
	if errors.Is(err, kv.ErrNotFound) {
		return int64(tx.Shape().Present), nil
	}
	if err != nil {
		return 0, err
	}
	missing, any, err := nodesWithoutRow(tx, matrix)
	if err != nil || !any {
		return 0, err
	}
	return countPresent(tx, missing)
}

// countPresent counts the nodes of a set that were not removed.
func countPresent(tx *kv.Tx, nodes kv.NodeSet) (count int64, err error) {
	removed, err := tx.Removed()
	if err != nil {
		return 0, err
	}
	for v := range nodes.All() {
		if !removed.Has(v) {
			count++
		}
	}
	return count, nil
}

// nodesWithoutRow are those whose row of predictions was never written: its first column is NaN. Any says whether there
// are some; removed nodes are among them.
func nodesWithoutRow(tx *kv.Tx, matrix *kv.Matrix) (missing kv.NodeSet, any bool, err error) {
	n := tx.NumNodes()
	missing = bitset.New[kv.NodeID](n)
	if matrix.Width() == 0 {
		return missing, false, nil
	}
	const step = 1 << 16
	values := make([]float32, min(step, n))
	for first := 0; first < n; first += step {
		end := min(first+step, n)
		block := values[:end-first]
		if err := matrix.Read(kv.Range{First: kv.NodeID(first), End: kv.NodeID(end)}, 0, 1, block); err != nil {
			return missing, false, err
		}
		for i, p := range block {
			if math.IsNaN(float64(p)) {
				missing.Add(kv.NodeID(first + i))
				any = true
			}
		}
	}
	return missing, any, nil
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

// reorderedMatrix is a matrix with its columns put in another order; a place of -1 is a column of zeros.
type reorderedMatrix struct {
	matrix *kv.Matrix
	place  []int
}

func (s *reorderedMatrix) Width() int { return len(s.place) }

// Read reads all columns of the matrix between the least and the greatest that are asked for, some rows at a time.
func (s *reorderedMatrix) Read(rows kv.Range, lo, hi int, dst []float32) error {
	least, end := s.matrix.Width(), 0
	for _, j := range s.place[lo:hi] {
		if j >= 0 {
			least, end = min(least, j), max(end, j+1)
		}
	}
	if least >= end {
		clear(dst)
		return nil
	}
	width, columns := end-least, hi-lo
	step := kv.NodeID(max(rowstore.BlockValues/width, 1))
	values := make([]float32, min(rows.Len(), int(step))*width)
	for first := rows.First; first < rows.End; first += step {
		part := kv.Range{First: first, End: min(first+step, rows.End)}
		if err := s.matrix.Read(part, least, end, values[:part.Len()*width]); err != nil {
			return err
		}
		for r := range part.Len() {
			to := dst[(int(first-rows.First)+r)*columns:][:columns]
			for i, j := range s.place[lo:hi] {
				if j < 0 {
					to[i] = 0
				} else {
					to[i] = values[r*width+j-least]
				}
			}
		}
	}
	return nil
}

// withRows is a source in which some nodes, ascending, have other rows.
type withRows struct {
	ops.Source
	nodes []kv.NodeID
	rows  [][]float32
}

func (s withRows) Read(rows kv.Range, lo, hi int, dst []float32) error {
	if err := s.Source.Read(rows, lo, hi, dst); err != nil {
		return err
	}
	i, _ := slices.BinarySearch(s.nodes, rows.First)
	for ; i < len(s.nodes) && s.nodes[i] < rows.End; i++ {
		copy(dst[int(s.nodes[i]-rows.First)*(hi-lo):][:hi-lo], s.rows[i][lo:hi])
	}
	return nil
}

func hasNaN(row []float32) bool {
	return slices.ContainsFunc(row, func(x float32) bool { return math.IsNaN(float64(x)) })
}

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
	value, err := j.tx.Value(v, splitting.Column)
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
	if split.Teaches() {
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
		labelmodel.Mix(weights, row, imported)
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
		labelmodel.Mix(weights, row, to)
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
