package cleaner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/naming"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/internal/namelist"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
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

// The documents of predictions, in a space of their own: their source, the loss of their encoding, and how often they were
// written.
const (
	predictionsSpace = "predictions"
	sourceKey        = "source"
	lossKey          = "loss"
	writesKey        = "writes" // how often predictions were written
)

// PredictionOptions says what the rows of a PredictionWriter are, and how they are stored.
type PredictionOptions struct {
	// Logits says that rows are logits, which become probabilities by softmax.
	Logits bool

	// Source is SourceImported when empty.
	Source string

	// AssumedOrder is true if nobody named the columns, so that their order is an assumption. Finish then returns a
	// *ColumnOrderError if the labels show another order.
	AssumedOrder bool

	// Partial lets nodes be without a row. Clean has the built-in classifier predict them or, with AsGiven,
	// gives them no score. PresetPaper wants a row for each, or AsGiven.
	Partial bool

	PredictionEncoding
}

// A PredictionWriter checks predictions row by row and writes them to the matrix PredictionsMatrix of a bulk write. Use
// it from one goroutine: Put every node once, in any order, then Finish, and call Mark in the final function of Commit.
type PredictionWriter struct {
	tx      *kv.Tx
	write   func(v kv.NodeID, row []float32) error // of encoded rows, borrowed
	opt     PredictionOptions
	classes []string
	nodes   kv.NodeSet
	rows    int
	row     []float64
	keeper  rowKeeper
	loss    PredictionLoss    // Mean: the sum
	order   *agreementCounter // nil of predictions that are the program's own
	labels  func(kv.Range, []kv.Class) error

	scaled        Scaling
	distributions int // rows that add up to 1 or to 100, though they are to be logits
	positive      int // rows that have no number below 0, though they are to be logits
	agreement     Agreement

	finished bool
	some     bool // nodes may be without a row
	joined   bool // the joined predictions of the last run have followed
}

// NewPredictionWriter begins predictions whose column j is the class classes[j]. Each must be a class of the store, and
// no class that a node is given may be missing: ErrUnknownClass names the first that is.
func NewPredictionWriter(b *kv.Bulk, classes []string, opt PredictionOptions) (*PredictionWriter, error) {
	tx := b.Tx()
	if err := checkClasses(tx, classes); err != nil {
		return nil, err
	}
	matrix, err := b.Matrix(PredictionsMatrix, classes, opt.matrix())
	if err != nil {
		return nil, err
	}
	if opt.Source != SourceBuiltIn { // the rows of the built-in classifier ascend, those of a file come in its order
		matrix.Sort()
	}
	return newPredictionWriter(tx, classes, opt, matrix.Put), nil
}

// AppendPredictions begins predictions of some nodes, which replace those that the nodes have. The store has predictions
// (kv.ErrNotFound), with a column for each of the classes (ErrUnknownClass); a class that is left out is 0. Rows are stored as those of the store are: opt
// has no encoding. write writes a row of a matrix, such as kv.Tx.SetRow.
func AppendPredictions(
	tx *kv.Tx, classes []string, opt PredictionOptions, write func(matrix string, v kv.NodeID, row []float32) error,
) (*PredictionWriter, error) {
	matrix, err := tx.Matrix(PredictionsMatrix)
	if err != nil {
		return nil, err
	}
	places, seen := columnPlaces(matrix.Columns()), map[string]bool{}
	for _, name := range classes {
		if _, ok := places[name]; !ok {
			return nil, fmt.Errorf("class %q: the predictions of the store have no column for it: %w", name, ErrUnknownClass)
		}
		if seen[name] {
			return nil, fmt.Errorf("class %q of the predictions: it has two columns: %w", name, ErrUnknownClass)
		}
		seen[name] = true
	}
	opt.PredictionEncoding = PredictionEncoding{}
	joins, err := newJoiner(tx)
	if err != nil {
		return nil, err
	}
	whole, keeper := make([]float64, matrix.Width()), newRowKeeper(matrix.Encoding(), matrix.Width())
	w := newPredictionWriter(tx, classes, opt, func(v kv.NodeID, row []float32) error {
		clear(whole)
		for j, p := range row {
			whole[places[classes[j]]] = float64(p)
		}
		kept, _ := keeper.keep(whole)
		if err := joins.replace(v, matrix.Columns(), kept, write); err != nil {
			return err
		}
		return write(PredictionsMatrix, v, kept)
	})
	w.some, w.joined = true, joins != nil && joins.weights != nil
	return w, nil
}

// newPredictionWriter begins predictions of classes that fit the store.
func newPredictionWriter(
	tx *kv.Tx, classes []string, opt PredictionOptions, write func(kv.NodeID, []float32) error,
) *PredictionWriter {
	if opt.Source == "" {
		opt.Source = SourceImported
	}
	w := &PredictionWriter{
		tx:      tx,
		write:   write,
		opt:     opt,
		classes: slices.Clone(classes),
		nodes:   bitset.New[kv.NodeID](tx.NumNodes()),
		row:     make([]float64, len(classes)),
		keeper:  newRowKeeper(opt.matrix(), len(classes)),
		labels: func(rows kv.Range, dst []kv.Class) error {
			return tx.ReadClasses(kv.LabelColumn, rows, dst)
		},
	}
	if opt.Source == SourceImported {
		w.order = newAgreementCounter(tx.NumNodes())
	}
	return w
}

// readPredictions holds predictions from outside, columns in the order of tx.Classes, in a scratch array; labels [n] are
// those that they were made from. The caller closes them.
func readPredictions(
	ctx context.Context, tx *kv.Tx, dir *scratch.Dir, set PredictionSet, labels []kv.Class,
) (matrix *rowstore.Store, err error) {
	var writer *PredictionWriter
	err = set(ctx, tx, func(classes []string, opt PredictionOptions) (*PredictionWriter, error) {
		if err := checkClasses(tx, classes); err != nil {
			return nil, err
		}
		names := tx.Classes()
		if matrix, err = rowstore.New(dir, tx.NumNodes(), len(names)); err != nil {
			return nil, err
		}
		places, target := columnPlaces(names), make([]float32, len(names))
		writer = newPredictionWriter(tx, classes, opt, func(v kv.NodeID, row []float32) error {
			for j, p := range row {
				target[places[classes[j]]] = p
			}
			return matrix.Write(kv.Range{First: v, End: v + 1}, 0, len(target), target)
		})
		writer.labels = func(rows kv.Range, dst []kv.Class) error {
			copy(dst, labels[rows.First:rows.End])
			return nil
		}
		return writer, nil
	})
	if err == nil && writer == nil {
		err = fmt.Errorf("predictions: none were begun: %w", ErrMissingRows)
	}
	if err == nil && !writer.finished {
		err = writer.Finish()
	}
	if err != nil && matrix != nil {
		err = errors.Join(err, matrix.Close())
	}
	return matrix, err
}

// checkClasses compares the classes of predictions with those of the store.
func checkClasses(tx *kv.Tx, classes []string) error {
	names := tx.Classes()
	predicted := make(map[string]bool, len(names)) // false: there is no column yet
	for _, name := range names {
		predicted[name] = false
	}
	for _, name := range classes {
		there, ok := predicted[name]
		if !ok {
			return fmt.Errorf("class %q of the predictions: no node is given it, the labels have %s: %w",
				name, namelist.Of(names), ErrUnknownClass)
		}
		if there {
			return fmt.Errorf("class %q of the predictions: it has two columns: %w", name, ErrUnknownClass)
		}
		predicted[name] = true
	}
	if len(classes) == len(names) {
		return nil
	}
	const step = 1 << 16
	labels := make([]kv.Class, min(step, tx.NumNodes()))
	for first := 0; first < tx.NumNodes(); first += step {
		rows := kv.Range{First: kv.NodeID(first), End: kv.NodeID(min(first+step, tx.NumNodes()))}
		if err := tx.ReadClasses(kv.LabelColumn, rows, labels[:rows.Len()]); err != nil {
			return err
		}
		for i, y := range labels[:rows.Len()] {
			if y != kv.NoClass && !predicted[names[y]] {
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
// 1 exactly, see Scaled. What is wrong with a row, a second one for the same node included, is a *RowError.
func (w *PredictionWriter) Put(v kv.NodeID, row []float64) error {
	if int(v) >= w.tx.NumNodes() {
		return cmp.Or(w.tx.Err(), fmt.Errorf("node number %d: %w", v, kv.ErrNotFound))
	}
	if w.nodes.Has(v) {
		return rowError(w.tx, v, "got a second row, want one")
	}
	if problem := w.normalize(row); problem != "" {
		err := rowError(w.tx, v, problem)
		if bad, ok := errors.AsType[*RowError](err); ok {
			bad.MayBeLogits = !w.opt.Logits && mayBeLogits(row)
		}
		return err
	}
	w.nodes.Add(v)
	w.rows++
	if w.order != nil {
		w.order.see(v, w.row)
	}
	output, loss := w.keeper.keep(w.row)
	w.loss.Mean += loss
	w.loss.Greatest = max(w.loss.Greatest, loss)
	return w.write(v, output)
}

// Encoding is how the rows are stored: TopK is zero if every class is kept.
func (w *PredictionWriter) Encoding() PredictionEncoding {
	return predictionEncoding(w.keeper.encoding, len(w.classes))
}

// Loss is the loss of the encoding in the rows so far.
func (w *PredictionWriter) Loss() PredictionLoss {
	return PredictionLoss{Mean: w.loss.Mean / float64(max(w.rows, 1)), Greatest: w.loss.Greatest}
}

// Finish ends the rows. If nodes have no row, and they may not be without, it returns ErrMissingRows with their number and the first of them in file
// order. If rows were to be logits, and are probabilities, it returns ErrNotLogits. If the labels show another order of
// the columns, and nobody has named them, it returns a *ColumnOrderError. Call it before Commit.
func (w *PredictionWriter) Finish() error {
	w.finished = true
	if 2*w.distributions > w.rows {
		return ErrNotLogits
	}
	if !w.some && !w.opt.Partial {
		if err := missingRows(w.tx, func(v kv.NodeID) bool { return !w.nodes.Has(v) }); err != nil {
			return err
		}
	}
	if w.order == nil {
		return nil
	}
	places := columnPlaces(w.classes)
	var columns []kv.Class // by class
	for _, name := range w.tx.Classes() {
		column := kv.NoClass
		if j, ok := places[name]; ok {
			column = kv.Class(j)
		}
		columns = append(columns, column)
	}
	counted, err := w.order.count(w.tx.NumNodes(), len(w.classes), columns, w.labels)
	if err != nil {
		return err
	}
	w.agreement = counted.agreement()
	w.agreement.Tied = w.order.tied
	if order := counted.check(w.classes, true); order != nil && w.opt.AssumedOrder {
		return order
	}
	w.agreement.Order = counted.check(w.classes, false)
	return nil
}

// missingRows is nil unless some node is missing.
func missingRows(tx *kv.Tx, missing func(kv.NodeID) bool) error {
	var count int
	removed, err := tx.Removed()
	if err != nil {
		return err
	}
	for v := range kv.NodeID(tx.NumNodes()) {
		if missing(v) && !removed.Has(v) {
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

// Mark records the source of the predictions and the loss of their encoding, which those of AppendPredictions leave as they are.
// Call it in the transaction that makes them visible, such as the final function of Commit.
func (w *PredictionWriter) Mark(tx *kv.Tx) error {
	if w.joined {
		return nil
	}
	if w.some {
		return countPredictionWrite(tx)
	}
	if err := tx.Documents(predictionsSpace).Put(lossKey, w.Loss()); err != nil {
		return err
	}
	return errors.Join(tx.Documents(predictionsSpace).Put(sourceKey, w.opt.Source), countPredictionWrite(tx))
}

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

// SetPredictions stores the predictions of one node in an update, in the order of tx.Classes. The row is checked as by
// PredictionWriter.Put, and encoded as the others are. The matrix is created if there is none; every node needs a row
// before Clean can use it, unless the last run has joined predictions with those of the built-in classifier: then the row is joined
// as that run would have joined it, and nodes that are added need none.
func SetPredictions(tx *kv.Tx, v kv.NodeID, row []float64) error {
	classes := tx.Classes()
	if len(row) != len(classes) {
		return rowError(tx, v, fmt.Sprintf("got %d numbers, want %d, one a class", len(row), len(classes)))
	}
	row = slices.Clone(row)
	if _, problem := normalizeRow(row, classes, sumTolerance); problem != "" {
		return rowError(tx, v, problem)
	}
	matrix, err := tx.Matrix(PredictionsMatrix)
	var columns []string
	var encoding kv.MatrixEncoding
	switch {
	case errors.Is(err, kv.ErrNotFound):
		columns = slices.Clone(classes)
		if err := tx.CreateMatrix(PredictionsMatrix, columns); err != nil {
			return err
		}
		if err := tx.Documents(predictionsSpace).Put(sourceKey, SourceImported); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		columns, encoding = matrix.Columns(), matrix.Encoding()
	}
	target := make([]float64, len(columns))
	places := columnPlaces(columns)
	for i, p := range row {
		j, ok := places[classes[i]]
		if !ok {
			if p != 0 {
				return rowError(tx, v, fmt.Sprintf("class %s is %v, and the stored predictions have no column for it", classes[i], p))
			}
			continue
		}
		target[j] = p
	}
	keeper := newRowKeeper(encoding, len(columns))
	output, _ := keeper.keep(target)
	joins, err := newJoiner(tx)
	if err == nil {
		err = joins.replace(v, columns, output, tx.SetRow)
	}
	if err != nil {
		return err
	}
	return tx.SetRow(PredictionsMatrix, v, output)
}

// rowError is a *RowError with the node's external id.
func rowError(tx *kv.Tx, v kv.NodeID, problem string) error {
	id, err := tx.ID(v)
	if err != nil {
		return err
	}
	return &RowError{Node: v, ID: id, Msg: problem}
}
