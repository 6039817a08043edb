package cleaner

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// Names of stored matrices, [n×c] and [n×d] float32.
const (
	PredictionsMatrix = "predictions" // a column a class, named by it
	FeaturesMatrix    = "features"    // node features, input of the built-in base classifier
)

// Sources of predictions.
const (
	SourceImported = "imported"
	SourceBuiltIn  = "built-in"
)

// Where the source of the predictions is kept: a document in a space of its own.
const (
	predictionsSpace = "predictions"
	sourceKey        = "source"
)

// PredictionOptions says what the rows of a PredictionWriter are.
type PredictionOptions struct {
	// Logits says that rows are logits, which become probabilities by softmax.
	Logits bool

	// Source is SourceImported when empty.
	Source string
}

// A PredictionWriter checks predictions row by row and writes them to the matrix PredictionsMatrix of a bulk write. Use
// it from one goroutine: Put every node once, in any order, then Finish, and call Mark in the final function of Commit.
type PredictionWriter struct {
	tx      *kv.Tx
	matrix  *kv.MatrixWriter
	opt     PredictionOptions
	classes []string
	written []bool // [n]
	row     []float64
	stored  []float32
}

// NewPredictionWriter begins predictions whose column j is the class classes[j]. Each must be a class of the store, and
// no class that a node is given may be missing: ErrUnknownClass names the first that is.
func NewPredictionWriter(b *kv.Bulk, classes []string, opt PredictionOptions) (*PredictionWriter, error) {
	tx := b.Tx()
	if err := checkClasses(tx, classes); err != nil {
		return nil, err
	}
	matrix, err := b.Matrix(PredictionsMatrix, classes)
	if err != nil {
		return nil, err
	}
	if opt.Source == "" {
		opt.Source = SourceImported
	}
	return &PredictionWriter{
		tx:      tx,
		matrix:  matrix,
		opt:     opt,
		classes: slices.Clone(classes),
		written: make([]bool, tx.NumNodes()),
		row:     make([]float64, len(classes)),
		stored:  make([]float32, len(classes)),
	}, nil
}

// checkClasses compares the classes of predictions with those of the store.
func checkClasses(tx *kv.Tx, classes []string) error {
	known := tx.Classes()
	for j, name := range classes {
		if !slices.Contains(known, name) {
			return fmt.Errorf("class %q of the predictions: no node is given it, the labels have %s: %w",
				name, listClasses(known), ErrUnknownClass)
		}
		if slices.Contains(classes[:j], name) {
			return fmt.Errorf("class %q of the predictions: it has two columns: %w", name, ErrUnknownClass)
		}
	}
	if len(classes) == len(known) {
		return nil
	}
	predicted := make([]bool, len(known))
	for i, name := range known {
		predicted[i] = slices.Contains(classes, name)
	}
	labels := make([]kv.Class, tx.NumNodes())
	if err := tx.ReadClasses(kv.LabelColumn, labels); err != nil {
		return err
	}
	for v, y := range labels {
		if y != kv.NoClass && !predicted[y] {
			err := fmt.Errorf("it is given class %q, and the predictions have only %s: %w",
				known[y], listClasses(classes), ErrUnknownClass)
			return nodeError(tx, kv.NodeID(v), err)
		}
	}
	return nil
}

// listClasses prints the first few class names.
func listClasses(classes []string) string {
	const few = 8
	if len(classes) == 0 {
		return "none"
	}
	if len(classes) > few {
		return fmt.Sprintf("%q and %d more", classes[:few], len(classes)-few)
	}
	return fmt.Sprintf("%q", classes)
}

// Put checks and writes the predictions of one node, in the order of the writer's classes; row is left as it is.
// Probabilities must be from 0 to 1 and add up to 1 within 1e-3; they are then scaled to add up to 1 exactly. What is
// wrong with a row, a second one for the same node included, is a *RowError.
func (w *PredictionWriter) Put(v kv.NodeID, row []float64) error {
	if int(v) >= len(w.written) {
		return fmt.Errorf("node number %d: %w", v, kv.ErrNotFound)
	}
	if w.written[v] {
		return rowError(w.tx, v, "got a second row, want one")
	}
	if problem := w.normalize(row); problem != "" {
		return rowError(w.tx, v, problem)
	}
	w.written[v] = true
	for j, p := range w.row {
		w.stored[j] = float32(p)
	}
	return w.matrix.Put(v, w.stored)
}

// normalize puts the probabilities of row into w.row, or says what is wrong with it.
func (w *PredictionWriter) normalize(row []float64) (problem string) {
	if len(row) != len(w.classes) {
		return fmt.Sprintf("got %d numbers, want %d, one a class", len(row), len(w.classes))
	}
	copy(w.row, row)
	if w.opt.Logits {
		if problem = softmax(w.row, w.classes); problem != "" {
			return problem
		}
	}
	return normalizeRow(w.row, w.classes)
}

// sumTolerance is how far from 1 the probabilities of a node may add up.
const sumTolerance = 1e-3

// normalizeRow scales probabilities to add up to 1, or says what is wrong with them.
func normalizeRow(row []float64, classes []string) (problem string) {
	var sum float64
	for j, p := range row {
		if !(p >= 0 && p <= 1+sumTolerance) { // also where p is NaN
			return fmt.Sprintf("class %s is %v, want a probability from 0 to 1", classes[j], p)
		}
		sum += p
	}
	if math.Abs(sum-1) > sumTolerance {
		return fmt.Sprintf("they add up to %.6g, want 1 (or say that they are logits)", sum)
	}
	for j := range row {
		row[j] /= sum
	}
	return ""
}

// softmax turns logits into probabilities, or says what is wrong with them. Taking the greatest away first keeps
// every exponential from overflowing.
func softmax(row []float64, classes []string) (problem string) {
	greatest := math.Inf(-1)
	for j, x := range row {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Sprintf("class %s is %v, want a finite logit", classes[j], x)
		}
		greatest = max(greatest, x)
	}
	var sum float64
	for j, x := range row {
		row[j] = math.Exp(x - greatest)
		sum += row[j]
	}
	for j := range row {
		row[j] /= sum
	}
	return ""
}

// Finish ends the rows: ErrMissingRows names the first node in file order that has none, and how many there are. Call
// it before Commit.
func (w *PredictionWriter) Finish() error {
	return missingRows(w.tx, func(v kv.NodeID) bool { return !w.written[v] })
}

// missingRows is nil unless some node is missing.
func missingRows(tx *kv.Tx, missing func(kv.NodeID) bool) error {
	var count int
	for v := range tx.NumNodes() {
		if missing(kv.NodeID(v)) {
			count++
		}
	}
	if count == 0 {
		return nil
	}
	for v, err := range tx.InFileOrder() {
		if err != nil {
			return err
		}
		if !missing(v) {
			continue
		}
		id, err := tx.ID(v)
		if err != nil {
			return err
		}
		if count == 1 {
			return fmt.Errorf("node %s has no row: %w", id, ErrMissingRows)
		}
		return fmt.Errorf("node %s and %d more have no row: %w", id, count-1, ErrMissingRows)
	}
	return nil
}

// Mark records where the predictions come from. Call it in the final function of the Commit that writes them.
func (w *PredictionWriter) Mark(tx *kv.Tx) error {
	return tx.PutDocument(predictionsSpace, sourceKey, w.opt.Source)
}

// SetPredictions stores the predictions of one node in an update, in the order of tx.Classes. The row is checked as by
// PredictionWriter.Put. The matrix is created where there is none; every node needs a row before Clean can use it.
func SetPredictions(tx *kv.Tx, v kv.NodeID, row []float64) error {
	classes := tx.Classes()
	if len(row) != len(classes) {
		return rowError(tx, v, fmt.Sprintf("got %d numbers, want %d, one a class", len(row), len(classes)))
	}
	row = slices.Clone(row)
	if problem := normalizeRow(row, classes); problem != "" {
		return rowError(tx, v, problem)
	}
	matrix, err := tx.Matrix(PredictionsMatrix)
	var columns []string
	switch {
	case errors.Is(err, kv.ErrNotFound):
		columns = slices.Clone(classes)
		if err := tx.CreateMatrix(PredictionsMatrix, columns); err != nil {
			return err
		}
		if err := tx.PutDocument(predictionsSpace, sourceKey, SourceImported); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		columns = matrix.Columns()
	}
	stored := make([]float32, len(columns))
	for i, p := range row {
		j := slices.Index(columns, classes[i])
		if j < 0 {
			if p != 0 {
				return rowError(tx, v, fmt.Sprintf("class %s is %v, and the stored predictions have no column for it", classes[i], p))
			}
			continue
		}
		stored[j] = float32(p)
	}
	return tx.SetRow(PredictionsMatrix, v, stored)
}

// rowError is a *RowError with the node's external id.
func rowError(tx *kv.Tx, v kv.NodeID, problem string) error {
	id, err := tx.ID(v)
	if err != nil {
		return err
	}
	return &RowError{Node: v, ID: id, Msg: problem}
}

// Predictions returns the stored predictions [n×c], columns in the order of tx.Classes; a class that the matrix has no
// column for is 0. kv.ErrNotFound when there are none; ErrMissingRows names the first node in file order without a row.
func Predictions(tx *kv.Tx) (ops.Source, error) {
	matrix, err := tx.Matrix(PredictionsMatrix)
	if err != nil {
		return nil, err
	}
	if err := checkRows(tx, matrix); err != nil {
		return nil, err
	}
	return inClassOrder(tx, matrix), nil
}

// inClassOrder is a matrix of predictions with its columns in the order of tx.Classes.
func inClassOrder(tx *kv.Tx, matrix *kv.Matrix) ops.Source {
	columns, classes := matrix.Columns(), tx.Classes()
	if slices.Equal(columns, classes) {
		return matrix
	}
	place := make([]int, len(classes))
	for i, name := range classes {
		place[i] = slices.Index(columns, name)
	}
	return &reordered{matrix: matrix, place: place}
}

// checkRows looks for rows that were never written, which are NaN, in the first column.
func checkRows(tx *kv.Tx, matrix *kv.Matrix) error {
	if matrix.Width() == 0 {
		return nil
	}
	n := tx.NumNodes()
	missing := make([]bool, n)
	var any bool
	const step = 1 << 16
	values := make([]float32, min(step, n))
	for first := 0; first < n; first += step {
		end := min(first+step, n)
		block := values[:end-first]
		if err := matrix.Read(kv.Range{First: kv.NodeID(first), End: kv.NodeID(end)}, 0, 1, block); err != nil {
			return err
		}
		for i, p := range block {
			if math.IsNaN(float64(p)) {
				missing[first+i], any = true, true
			}
		}
	}
	if !any {
		return nil
	}
	return missingRows(tx, func(v kv.NodeID) bool { return missing[v] })
}

// predictionSource is where the stored predictions come from.
func predictionSource(tx *kv.Tx) (string, error) {
	var source string
	if err := tx.Document(predictionsSpace, sourceKey, &source); err != nil && !errors.Is(err, kv.ErrNotFound) {
		return "", err
	}
	if source == "" {
		source = SourceImported
	}
	return source, nil
}

// reordered is a matrix with its columns put in another order; a place of -1 is a column of zeros.
type reordered struct {
	matrix *kv.Matrix
	place  []int
}

func (s *reordered) Width() int { return len(s.place) }

// Read reads all columns of the matrix between the least and the greatest that are asked for.
func (s *reordered) Read(rows kv.Range, lo, hi int, dst []float32) error {
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
	n, width := int(rows.End-rows.First), end-least
	values := make([]float32, n*width)
	if err := s.matrix.Read(rows, least, end, values); err != nil {
		return err
	}
	for r := range n {
		for i, j := range s.place[lo:hi] {
			if j < 0 {
				dst[r*(hi-lo)+i] = 0
			} else {
				dst[r*(hi-lo)+i] = values[r*width+j-least]
			}
		}
	}
	return nil
}
