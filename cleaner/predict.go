package cleaner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/naming"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/workplace"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A PredictReport says how the base classifier was trained and how often it agrees with the given labels.
type PredictReport struct {
	Inputs                                          string  // InputFeatures, InputMixed or InputStructure
	TrainNodes, ValidationNodes, TestNodes          int64   // labelled nodes: learned from, and of the other splits
	TrainAccuracy, ValidationAccuracy, TestAccuracy float64 // of the predictions, cross-fitted (see Predict); NaN for an empty split
	Seconds                                         float64
}

// What the base classifier sees of a node.
const (
	InputFeatures  = "features"                // the stored features, smoothed over its neighbourhood
	InputMixed     = "features and neighbours" // where neighbours disagree
	InputStructure = "structure"               // the training labels around it
)

// Predict trains the built-in base classifier on the given labels of all nodes outside the validation and test splits,
// and writes its predictions of every node, in place of those the store has. It is a linear classifier by
// least squares (see nn.Ridge), whose input is
//
//	Σ_k Ŝ^k X, k = 0..2, Ŝ = (D+I)^(-1/2)(A+I)(D+I)^(-1/2), X the features, each row scaled to length 1
//	(simple spectral graph convolution, Zhu and Koniusz 2021)
//
// and on a graph without features, or with features of less than half of its nodes,
//
//	S_k Y_train, k = 1..3 (1..4 where less than a tenth of the nodes are learned from),
//	each row scaled to sum 3 d/(d+1), d the degree, and the logarithm of the degree
//
// in which no node sees its own label. If neighbours disagree (an adjusted homophily below LowHomophily, and no more
// than 256 classes), smoothing may mix unlike nodes. A graph with features then gets a second classifier, with the
// input
//
//	X, S_1 X, each row scaled to length 1, S_1 Y_train scaled to sum 1, and the logarithm of the degree
//
// The input with the lower cross-entropy is kept. A node that is learned from is predicted by the fit to all others,
// and counts as such in the cross-entropy. Of a store without a column "split" all labels are learned.
//
// The store keeps the classifier, as it keeps one that Clean has joined with predictions from outside: for nodes that
// are added later, which Clean and Rescore predict by it.
//
// Of the options it takes Seed, Encoding, and those that every job has. Below the least MemoryBudget for the graph it fails with an *ops.BudgetError before it learns anything.
//
// Without labels outside the validation and test splits it returns ErrNoLabels, for bad features of a node ErrFeatures,
// for bad options ErrOptions. If nodes or classes are added after it begins, it returns ErrMissingRows or
// ErrUnknownClass. After a cancel or an error the store is as it was.
func Predict(ctx context.Context, s *kv.Store, opt Options) (report *PredictReport, err error) {
	if opt, err = opt.withDefaults(); err != nil {
		return nil, err
	}
	if s.ReadOnly() {
		return nil, fmt.Errorf("predict: %w", kv.ErrReadOnly) // now, not when everything is computed
	}
	tx := s.Begin()
	defer tx.Close()
	place, err := workplace.Open(ctx, s, tx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	p := baseProblem{classes: len(tx.Classes()), place: place, order: tx.InFileOrder(), neighbors: opt.neighbors}
	var free func() error
	p.graph, free = inSeries(graphOf(tx))
	defer func() { err = errors.Join(err, free()) }()
	if p.labels, err = readLabels(tx); err != nil {
		return nil, err
	}
	if p.splits, p.drawn, err = Splits(tx, p.labels, opt.Seed); err != nil {
		return nil, err
	}
	var notice string
	if p.features, notice, err = baseFeatures(ctx, tx); err != nil {
		return nil, err
	}
	if opt.Notice != nil && notice != "" {
		opt.Notice(notice)
	}
	opt.stage("read")
	predictions, trained, err := p.trainAndPredict(ctx, opt)
	if err != nil {
		return nil, err
	}
	err = writePredictions(ctx, s, tx, predictions, trained.keep(&p, tx.Classes()), opt.Encoding)
	if err = errors.Join(err, predictions.Close()); err != nil {
		return nil, err
	}
	opt.stage("write")
	return trained.report, nil
}

// writePredictions stores predictions of the nodes of a snapshot, whose columns are in the order of its classes, and
// the classifier that made them.
func writePredictions(
	ctx context.Context, s *kv.Store, snapshot *kv.Tx, predictions ops.Source, by *classifier, encoding PredictionEncoding,
) error {
	b, err := s.Bulk(ctx)
	if err != nil {
		return err
	}
	defer b.Abort()
	opt := PredictionOptions{Source: SourceBuiltIn, PredictionEncoding: encoding}
	w, err := NewPredictionWriter(b, snapshot.Classes(), opt)
	if err != nil {
		return err
	}
	removed, err := b.Tx().Removed()
	if err != nil {
		return err
	}
	wide := make([]float64, predictions.Width())
	err = rowstore.Each(ctx, predictions, snapshot.NumNodes(), 1, func(rows kv.Range, values []float32) error {
		for v := rows.First; v < rows.End; v++ {
			if removed.Has(v) {
				continue
			}
			for j := range wide {
				wide[j] = float64(values[int(v-rows.First)*len(wide)+j])
			}
			if err := w.Put(v, wide); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.Finish(); err != nil {
		return err
	}
	if err := by.write(b); err != nil {
		return err
	}
	return b.Commit(func(tx *kv.Tx) error { return errors.Join(w.Mark(tx), by.mark(tx)) })
}

// mostFeature bounds the size of a feature. Sums of so large numbers over the neighbourhoods of any graph are finite in
// float32.
const mostFeature = 1e30

// structureAlone is what a notice says of a graph whose features are not used.
const structureAlone = "the base classifier learns from the structure and the training labels alone"

// baseFeatures returns the stored features, or nil and why they are not used. A node without a row, which reads as all
// NaN, has none; any other number that is not finite, or beyond mostFeature, is ErrFeatures.
func baseFeatures(ctx context.Context, tx *kv.Tx) (features ops.Source, notice string, err error) {
	matrix, err := tx.Matrix(FeaturesMatrix)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, "no features: " + structureAlone, nil
	}
	if err != nil {
		return nil, "", err
	}
	count, err := countFeatures(ctx, tx)
	if err != nil {
		return nil, "", err
	}
	if n := tx.Shape().Present; 2*count < n {
		return nil, fmt.Sprintf("only %d of %d nodes have features: %s", count, n, structureAlone), nil
	}
	return zeroMissing{matrix}, "", nil
}

// isFeature says whether a number can be a feature.
func isFeature(x float32) bool { return x >= -mostFeature && x <= mostFeature }

// countFeatures counts the nodes with features other than zeros. A node with a feature that can be none is ErrFeatures.
func countFeatures(ctx context.Context, tx *kv.Tx) (count int, err error) {
	matrix, err := tx.Matrix(FeaturesMatrix)
	if err != nil {
		return 0, err
	}
	width := matrix.Width()
	err = rowstore.Each(ctx, matrix, tx.NumNodes(), 1, func(rows kv.Range, values []float32) error {
		for v := rows.First; v < rows.End; v++ {
			row := values[int(v-rows.First)*width:][:width]
			isNaN := func(value float32) bool { return value != value }
			if !slices.ContainsFunc(row, func(value float32) bool { return !isNaN(value) }) {
				continue
			}
			if j := slices.IndexFunc(row, func(value float32) bool { return !isFeature(value) }); j >= 0 {
				err := fmt.Errorf("feature %s is %v, want a number between %g and %g: %w",
					matrix.Columns()[j], row[j], -mostFeature, mostFeature, ErrFeatures)
				return naming.Node(tx, v, err)
			}
			if slices.ContainsFunc(row, func(value float32) bool { return value != 0 }) {
				count++
			}
		}
		return nil
	})
	return count, err
}

// zeroMissing reads rows that were never written as zeros.
type zeroMissing struct{ ops.Source }

func (s zeroMissing) Read(rows kv.Range, lo, hi int, dst []float32) error {
	if err := s.Source.Read(rows, lo, hi, dst); err != nil {
		return err
	}
	for i, value := range dst[:int(rows.End-rows.First)*(hi-lo)] {
		if value != value {
			dst[i] = 0
		}
	}
	return nil
}
