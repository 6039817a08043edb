package cleaner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/naming"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/probability"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/internal/namelist"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Names of stored matrices, [n×c] and [n×d] float32.
const (
	PredictionsMatrix = "predictions" // a column a class, in the order of kv.Tx.Classes; classes used later have none
	FeaturesMatrix    = "features"    // node features, input of the built-in base classifier
)

// Sources of predictions.
const (
	SourceImported = "imported"
	SourceBuiltIn  = "built-in"
)

// The documents of predictions, in a space of their own: their source, and how often they were written.
const (
	predictionsSpace = "predictions"
	sourceKey        = "source"
	writesKey        = "writes" // how often predictions were written
)

// PredictionOptions says what the rows of a PredictionWriter are.
type PredictionOptions struct {
	// Logits says that rows are logits, which become probabilities by softmax.
	Logits bool

	// Partial lets nodes be without a row. Clean has the built-in classifier predict them or, with AsGiven,
	// gives them no score. Preset paper wants a row for each, or AsGiven.
	Partial bool
}

// A PredictionWriter checks predictions row by row and writes them to the matrix PredictionsMatrix. Use it from one
// goroutine: Put every node once, in any order, then Finish, and call Mark in the final function of Commit.
type PredictionWriter struct {
	tx      *kv.Tx
	write   func(v kv.NodeID, row []float32) error // of rows that add up to 1, borrowed
	mark    func(tx *kv.Tx) error                  // see Mark
	opt     PredictionOptions
	classes []string
	places  []int // of the classes among the columns that are written
	nodes   kv.NodeSet
	rows    int
	row     []float64
	stored  []float32 // row as it is stored [columns]; a column of none of the classes is 0

	distributions int // rows that add up to 1 or to 100, though they are to be logits
}

// NewPredictionWriter begins imported predictions whose column j is the class classes[j]. Each must be a class of the
// store, and no class that a node is given may be missing: ErrUnknownClass names the first that is.
func NewPredictionWriter(b *kv.Bulk, classes []string, opt PredictionOptions) (*PredictionWriter, error) {
	return replacePredictions(b, classes, opt, SourceImported)
}

// replacePredictions is NewPredictionWriter of a source.
func replacePredictions(b *kv.Bulk, classes []string, opt PredictionOptions, source string) (*PredictionWriter, error) {
	tx := b.Tx()
	if err := checkClasses(tx, classes); err != nil {
		return nil, err
	}
	matrix, err := b.Matrix(PredictionsMatrix, tx.Classes())
	if err != nil {
		return nil, err
	}
	if source != SourceBuiltIn { // the rows of the built-in classifier ascend, those of a file come in its order
		matrix.Sort()
	}
	w := newPredictionWriter(tx, classes, tx.Classes(), opt, matrix.Put)
	w.mark = func(tx *kv.Tx) error {
		return errors.Join(tx.Documents(predictionsSpace).Put(sourceKey, source), countPredictionWrite(tx))
	}
	return w, nil
}

// AppendPredictions begins predictions of some nodes, which replace those that the nodes have. The store has
// predictions (kv.ErrNotFound), with a column for each of the classes (ErrUnknownClass); a class that is left out is 0.
// write writes a row of a matrix, such as kv.Tx.SetRow. If the last run joined predictions, those of nodes that were
// added since are joined too; others count as written anew, as by NewPredictionWriter.
func AppendPredictions(
	tx *kv.Tx, classes []string, opt PredictionOptions, write func(matrix string, v kv.NodeID, row []float32) error,
) (*PredictionWriter, error) {
	matrix, err := tx.Matrix(PredictionsMatrix)
	if err != nil {
		return nil, err
	}
	err = checkColumns(classes, matrix.Columns(), func(name string) string {
		return fmt.Sprintf("class %q: the predictions of the store have no column for it", name)
	})
	if err != nil {
		return nil, err
	}
	joined, err := openFiller(tx)
	if err != nil && !errors.Is(err, errNoClassifier) {
		return nil, err
	}
	counts := joined == nil || joined.imported == nil
	opt.Partial = true
	w := newPredictionWriter(tx, classes, matrix.Columns(), opt, func(v kv.NodeID, row []float32) error {
		if !counts && int(v) >= joined.by.Nodes { // Rescore joins it anew
			if err := write(CombinedMatrix, v, slices.Repeat([]float32{float32(math.NaN())}, joined.Width())); err != nil {
				return fmt.Errorf("joined predictions: %w", err)
			}
		} else {
			counts = true
		}
		return write(PredictionsMatrix, v, row)
	})
	w.mark = func(tx *kv.Tx) error {
		if !counts {
			return nil
		}
		return countPredictionWrite(tx)
	}
	return w, nil
}

// newPredictionWriter begins predictions of classes, each of which is among the columns that are written.
func newPredictionWriter(
	tx *kv.Tx, classes, columns []string, opt PredictionOptions, write func(kv.NodeID, []float32) error,
) *PredictionWriter {
	w := &PredictionWriter{
		tx:      tx,
		write:   write,
		opt:     opt,
		classes: slices.Clone(classes),
		nodes:   bitset.New[kv.NodeID](tx.NumNodes()),
		row:     make([]float64, len(classes)),
		stored:  make([]float32, len(columns)),
	}
	places := columnPlaces(columns)
	for _, name := range classes {
		w.places = append(w.places, places[name])
	}
	return w
}

// A PredictionSet reads the predictions of one model from outside. It begins a writer for the classes that it has, and
// puts every row. It does not call Mark.
type PredictionSet func(
	ctx context.Context, tx *kv.Tx, begin func(classes []string, opt PredictionOptions) (*PredictionWriter, error),
) error

// readPredictions holds predictions from outside, columns in the order of tx.Classes, in a scratch array. The caller
// closes them.
func readPredictions(
	ctx context.Context, tx *kv.Tx, dir *scratch.Dir, set PredictionSet,
) (matrix *rowstore.Store, err error) {
	names := tx.Classes()
	if matrix, err = rowstore.New(dir, tx.NumNodes(), len(names)); err != nil {
		return nil, err
	}
	writer := newPredictionWriter(tx, nil, nil, PredictionOptions{}, nil)
	err = set(ctx, tx, func(classes []string, opt PredictionOptions) (*PredictionWriter, error) {
		writer = newPredictionWriter(tx, classes, names, opt, func(v kv.NodeID, row []float32) error {
			return matrix.Write(kv.Range{First: v, End: v + 1}, 0, len(row), row)
		})
		return writer, checkClasses(tx, classes)
	})
	if err == nil {
		err = writer.Finish()
	}
	return matrix.OrClose(err)
}

// checkColumns wants classes to be among those that are known, each once; unknown says that one is not.
func checkColumns(classes, known []string, unknown func(name string) string) error {
	seen := columnPlaces(known)
	for _, name := range classes {
		switch place, ok := seen[name]; {
		case !ok:
			return fmt.Errorf("%s: %w", unknown(name), ErrUnknownClass)
		case place < 0:
			return fmt.Errorf("class %q of the predictions: it has two columns: %w", name, ErrUnknownClass)
		}
		seen[name] = -1
	}
	return nil
}

// columnPlaces are the places of columns by name.
func columnPlaces(columns []string) map[string]int {
	places := make(map[string]int, len(columns))
	for j, name := range columns {
		places[name] = j
	}
	return places
}

// checkClasses compares the classes of predictions with those of the store.
func checkClasses(tx *kv.Tx, classes []string) error {
	names := tx.Classes()
	err := checkColumns(classes, names, func(name string) string {
		return fmt.Sprintf("class %q of the predictions: no node is given it, the labels have %s", name, namelist.Of(names))
	})
	if err != nil || len(classes) == len(names) {
		return err
	}
	predicted := columnPlaces(classes)
	const step = 1 << 16
	labels := make([]kv.Class, min(step, tx.NumNodes()))
	for first := 0; first < tx.NumNodes(); first += step {
		rows := kv.Range{First: kv.NodeID(first), End: kv.NodeID(min(first+step, tx.NumNodes()))}
		if err := tx.ReadClasses(kv.LabelColumn, rows, labels[:rows.Len()]); err != nil {
			return err
		}
		for i, y := range labels[:rows.Len()] {
			if y == kv.NoClass {
				continue
			}
			if _, ok := predicted[names[y]]; !ok {
				err := fmt.Errorf("it is given class %q, and the predictions have only %s: %w",
					names[y], namelist.Of(classes), ErrUnknownClass)
				return naming.Node(tx, rows.First+kv.NodeID(i), err)
			}
		}
	}
	return nil
}

// Put checks and writes the predictions of one node, in the order of the writer's classes; row is left as it is.
// Probabilities must be from 0 to 1 and add up to 1, as nearly as two decimals allow; they are then scaled to add up to
// 1 exactly. What is wrong with a row, a second one for the same node included, is a *RowError.
func (w *PredictionWriter) Put(v kv.NodeID, row []float64) error {
	if int(v) >= w.tx.NumNodes() {
		return cmp.Or(w.tx.Err(), fmt.Errorf("node number %d: %w", v, kv.ErrNotFound))
	}
	if w.nodes.Has(v) {
		return rowError(w.tx, v, "got a second row, want one")
	}
	if len(row) != len(w.classes) {
		return rowError(w.tx, v, fmt.Sprintf("got %d numbers, want %d, one a class", len(row), len(w.classes)))
	}
	copy(w.row, row)
	isDistribution, problem := probability.Normalize(w.row, w.classes, w.opt.Logits)
	if isDistribution {
		w.distributions++
	}
	if problem != "" {
		return rowError(w.tx, v, problem)
	}
	w.nodes.Add(v)
	w.rows++
	for j, p := range w.row {
		w.stored[w.places[j]] = float32(p)
	}
	return w.write(v, w.stored)
}

// Finish ends the rows. If nodes have no row, and they may not be without, it returns ErrMissingRows with their number
// and the first of them in file order. If rows were to be logits, and are probabilities, it returns ErrNotLogits. Call
// it before Commit.
func (w *PredictionWriter) Finish() error {
	if 2*w.distributions > w.rows {
		return ErrNotLogits
	}
	if !w.opt.Partial && w.rows < w.tx.NumNodes() {
		return missingRows(w.tx, func(v kv.NodeID) bool { return !w.nodes.Has(v) })
	}
	return nil
}

// missingRows is nil unless some node is missing.
func missingRows(tx *kv.Tx, missing func(kv.NodeID) bool) error {
	count, first := 0, kv.NodeID(0)
	for v, err := range tx.InFileOrder() {
		if err != nil {
			return err
		}
		if !missing(v) {
			continue
		}
		if count++; count == 1 {
			first = v
		}
	}
	if count == 0 {
		return nil
	}
	id, err := tx.ID(first)
	switch {
	case err != nil:
		return err
	case count == 1:
		return fmt.Errorf("node %s has no row: %w", id, ErrMissingRows)
	}
	return fmt.Errorf("node %s and %d more have no row: %w", id, count-1, ErrMissingRows)
}

// Mark records that predictions were written, and their source, which AppendPredictions leaves as it is. Call it in the
// transaction that makes them visible, such as the final function of Commit.
func (w *PredictionWriter) Mark(tx *kv.Tx) error { return w.mark(tx) }

// predictionWrites is how often predictions were written.
func predictionWrites(tx *kv.Tx) (count int64, err error) {
	err = tx.Documents(predictionsSpace).Get(writesKey, &count)
	if errors.Is(err, kv.ErrNotFound) {
		return 0, nil
	}
	return count, err
}

func countPredictionWrite(tx *kv.Tx) error {
	count, err := predictionWrites(tx)
	if err != nil {
		return err
	}
	return tx.Documents(predictionsSpace).Put(writesKey, count+1)
}

// rowError is a *RowError with the node's external id.
func rowError(tx *kv.Tx, v kv.NodeID, problem string) error {
	id, err := tx.ID(v)
	if err != nil {
		return err
	}
	return &RowError{Node: v, ID: id, Msg: problem}
}

// A RowError describes bad predictions of one node.
type RowError struct {
	Node kv.NodeID
	ID   string // the node's external id
	Msg  string
}

// Error reads "predictions of node p17: class Theory is 1.2, want a probability from 0 to 1".
func (e *RowError) Error() string {
	return fmt.Sprintf("predictions of node %s: %s", e.ID, e.Msg)
}
