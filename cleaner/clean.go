package cleaner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/workplace"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// What Clean writes, beside the Run.
const (
	ScoreColumn      = decide.ScoreColumn     // single: the chance that the given label is wrong; null if unlabelled
	SuggestedColumn  = decide.SuggestedColumn // likeliest class except the given label, of every node: step 4 of package
	ConfidenceColumn = "confidence"           // single: the chance of that label
	RunColumn        = decide.RunColumn       // int: Run.ID
)

// ReservedNames are the properties that every store or run has, which the columns of a user do not.
var ReservedNames = []string{
	"id", kv.LabelColumn, SuggestedColumn, ScoreColumn, ConfidenceColumn, "degree", splitColumn, decide.Column,
	decide.DecidedByColumn, decide.DisputedColumn, RunColumn,
}

// Clean scores every labelled node and suggests a label for every node. It writes the columns score, suggested,
// confidence and run, the index on score and those that the other columns had, and the Run; all
// become visible at once. An index on label is created if there is none. If the store has no predictions it first
// runs Predict, and says so by opt.Notice.
//
// It uses the store as it is when it begins, after Predict. It holds the write lock only while it writes the results:
// labels, edges and predictions may change meanwhile. The results are for the labels from before; nodes added meanwhile
// get none. A cancelled or failed run leaves only finished predictions and the index on label. The next run uses them.
//
// If there are too few labels, it returns ErrNoLabels, ErrOneClass, ErrFewLabels or ErrFewFittingNodes; for bad
// options, ErrOptions.
func Clean(ctx context.Context, s *kv.Store, opt Options) (run *Run, err error) {
	if opt, err = opt.withDefaults(); err != nil {
		return nil, err
	}
	if s.ReadOnly() {
		return nil, fmt.Errorf("clean: %w", kv.ErrReadOnly) // now, not when everything is computed
	}
	start := time.Now()
	tx, err := prepare(ctx, s, opt)
	if err != nil {
		return nil, err
	}
	defer tx.Close()
	place, err := workplace.Open(ctx, s, tx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	in, err := readInputs(ctx, tx, place, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	work, err := in.begin(ctx, opt, nil)
	if err != nil {
		return nil, err
	}
	diagonals, err := work.findDiagonals(ctx) // before anything is trained: they may cost too much
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, diagonals.Close()) }()
	if err := in.countNeighbors(ctx, opt.Workers); err != nil {
		return nil, err
	}
	opt.stage("count")
	if err := in.join(ctx, opt); err != nil {
		return nil, err
	}
	result, err := work.run(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	in.finish(result, start, opt)
	opt.stage("count")
	if err := writeRun(ctx, s, in.run, start, &in.problem, result); err != nil {
		return nil, err
	}
	opt.stage("write")
	return in.run, nil
}

// prepare makes what a cleaning needs and a store lacks: predictions of every node that the kept classifier can
// predict, and the index on label. It begins to once the plan says that the store can be cleaned. It returns a snapshot
// that has them.
func prepare(ctx context.Context, s *kv.Store, opt Options) (tx *kv.Tx, err error) {
	var bare, indexed bool
	err = s.View(func(tx *kv.Tx) error {
		if err := checkLabels(tx); err != nil {
			return err
		}
		_, err := tx.Matrix(PredictionsMatrix)
		column, _ := tx.Column(kv.LabelColumn)
		bare, indexed = errors.Is(err, kv.ErrNotFound), column.Indexed
		if err != nil && !bare || !bare && indexed {
			return err
		}
		plan, err := PlanClean(ctx, tx, opt)
		if err != nil {
			return err
		}
		return plan.Refusal
	})
	if err != nil {
		return nil, err
	}
	if bare {
		opt.notice("no predictions in the store: training the built-in base classifier")
		if _, err := Predict(ctx, s, opt); err != nil {
			return nil, fmt.Errorf("base predictions: %w", err)
		}
	}
	if !indexed {
		if err := index.Create(ctx, s, kv.LabelColumn); err != nil && !errors.Is(err, kv.ErrExists) {
			return nil, fmt.Errorf("index on %s: %w", kv.LabelColumn, err)
		}
		opt.stage("index")
	}
	for { // until nobody has added nodes since the snapshot
		tx = s.Begin()
		filled, err := fillPredictions(ctx, s, opt, false)
		if errors.Is(err, errNoClassifier) || err == nil && filled == 0 {
			return tx, nil
		}
		if tx.Close(); err != nil {
			return nil, err
		}
	}
}

// warningsOf are those of Run.Warnings. order is that of tellOrder, and the model may be nil.
func warningsOf(homophily *LabelStatistics, order string, model *labelmodel.Model) (warnings []string) {
	if warning := homophily.Warning(); warning != "" {
		warnings = append(warnings, warning)
	}
	if order != "" {
		warnings = append(warnings, order)
	}
	if model != nil && model.Alike {
		warnings = append(warnings, "the predictions are too weak to tell wrong labels from hard ones, so wrong labels of "+
			"all pairs of classes count as equally frequent")
	}
	if model != nil && model.Unsettled {
		warnings = append(warnings, fmt.Sprintf("the label model had not converged after %d rounds: scores and the "+
			"mislabel rate may be slightly off", labelmodel.MostSweeps))
	}
	return warnings
}

// A PredictReport says how the base classifier was trained and how often it agrees with the given labels.
type PredictReport struct {
	Inputs   string  // InputFeatures, InputMixed or InputStructure
	Labelled int64   // nodes with a label
	Accuracy float64 // share of them that are predicted as they are labelled, each without its own label (see Predict)
	Seconds  float64
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
// Of the options it takes Seed, and those that every job has. Below the least MemoryBudget for the graph it
// fails with an *ops.BudgetError before it learns anything.
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
	p, err := problemOf(tx)
	if err != nil {
		return nil, err
	}
	p.place = place
	var free func() error
	p.graph, free = inSeries(p.graph)
	defer func() { err = errors.Join(err, free()) }()
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
	err = writePredictions(ctx, s, tx, predictions, trained.keep(&p, tx.Classes()))
	if err = errors.Join(err, predictions.Close()); err != nil {
		return nil, err
	}
	opt.stage("write")
	return trained.report, nil
}

// writePredictions stores predictions of the nodes of a snapshot, whose columns are in the order of its classes, and
// the classifier that made them.
func writePredictions(
	ctx context.Context, s *kv.Store, snapshot *kv.Tx, predictions ops.Source, by *classifier,
) error {
	b, err := s.Bulk(ctx)
	if err != nil {
		return err
	}
	defer b.Abort()
	w, err := replacePredictions(b, snapshot.Classes(), PredictionOptions{}, SourceBuiltIn)
	if err != nil {
		return err
	}
	removed, err := b.Tx().Removed()
	if err != nil {
		return err
	}
	wide := make([]float64, predictions.Width())
	err = rowstore.EachRow(ctx, predictions, snapshot.NumNodes(), 1, func(v kv.NodeID, row []float32) error {
		if removed.Has(v) {
			return nil
		}
		for j, p := range row {
			wide[j] = float64(p)
		}
		return w.Put(v, wide)
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
