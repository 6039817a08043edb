package cleaner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/workplace"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// What Clean writes, beside the Run.
const (
	ScoreColumn      = decide.ScoreColumn     // single: the chance that the given label is wrong; null if unlabelled
	SuggestedColumn  = decide.SuggestedColumn // likeliest class but for the given label, of every node; see step 4 of the package
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
	tx, err := begin(ctx, s, opt)
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
	if _, err := in.plan(ctx, tx, opt, nil); err != nil {
		return nil, err
	}
	diagonals, err := in.computeDiagonals(ctx, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, diagonals.Close()) }()
	homophily, err := in.homophily(ctx, tx, opt.Workers)
	if err != nil {
		return nil, err
	}
	opt.stage("count")
	if err := in.join(ctx, opt); err != nil {
		return nil, err
	}
	result, err := score(ctx, in.problem, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	run = in.run(result, homophily, start, opt)
	opt.stage("count")
	if err := writeRun(ctx, s, tx, run, start, &in.problem, result); err != nil {
		return nil, err
	}
	opt.stage("write")
	return run, nil
}

// begin returns a snapshot of a store that has what a cleaning needs: the index on label, and predictions of every node
// that the kept classifier can predict. What it lacks is made, once the plan says that it can be cleaned.
func begin(ctx context.Context, s *kv.Store, opt Options) (*kv.Tx, error) {
	var plan *Plan
	fills := true // until no classifier is kept that could predict added nodes
	for {
		tx := s.Begin()
		lack, err := whatLacks(ctx, tx, fills)
		if err == nil && lack == nothing {
			return tx, nil
		}
		if err == nil && plan == nil && lack != someRows {
			plan, err = checkPlan(ctx, s, tx, opt)
		}
		tx.Close()
		if err != nil {
			return nil, err
		}
		switch lack {
		case noPredictions:
			opt.notice("no predictions in the store: training the built-in base classifier")
			opt.neighbors = plan.neighbors
			if _, err = Predict(ctx, s, opt); err != nil {
				err = fmt.Errorf("base predictions: %w", err)
			}
		case someRows:
			if err = fillPredictions(ctx, s, opt); errors.Is(err, errNoClassifier) {
				fills, err = false, nil
			}
		default:
			if err = index.Create(ctx, s, kv.LabelColumn); err != nil && !errors.Is(err, kv.ErrExists) {
				err = fmt.Errorf("index on %s: %w", kv.LabelColumn, err)
			}
			opt.stage("index")
		}
		if err != nil && !errors.Is(err, kv.ErrExists) {
			return nil, err
		}
	}
}

// A lack is what a store lacks that a cleaning needs.
type lack int

const (
	nothing       lack = iota
	noPredictions      // are there
	someRows           // of predictions, which the kept classifier can make of added nodes
	labelIndex
)

// whatLacks is the first that is to be made. It fails if the labels are of less than two classes, which no predictions
// could repair.
func whatLacks(ctx context.Context, tx *kv.Tx, fills bool) (lack, error) {
	if err := checkLabels(tx); err != nil {
		return nothing, err
	}
	if _, err := tx.Matrix(PredictionsMatrix); errors.Is(err, kv.ErrNotFound) {
		return noPredictions, nil
	} else if err != nil {
		return nothing, err
	}
	if fills {
		if lacking, err := unpredictedIn(ctx, tx); err != nil || lacking {
			return someRows, err
		}
	}
	if column, _ := tx.Column(kv.LabelColumn); !column.Indexed {
		return labelIndex, nil
	}
	return nothing, nil
}

// unpredictedIn says whether nodes have no predictions that the kept classifier can give them.
func unpredictedIn(ctx context.Context, tx *kv.Tx) (bool, error) {
	f, err := openFiller(tx)
	if errors.Is(err, errNoClassifier) || errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	if err != nil || f.joiner != nil { // joined anew, whatever nodes have a row
		return false, err
	}
	nodes, err := f.unpredicted(ctx)
	return len(nodes) > 0, err
}

// fillPredictions predicts nodes that were added since the built-in classifier was trained by that, as it was kept. It
// joins them with imported ones as the last run has. It returns errNoClassifier if none is kept that could predict
// them.
func fillPredictions(ctx context.Context, s *kv.Store, opt Options) error {
	filled, err := predictMissing(ctx, s, opt)
	if errors.Is(err, errNoClassifier) || errors.Is(err, kv.ErrNotFound) {
		return errNoClassifier
	}
	if err != nil {
		return fmt.Errorf("predictions of added nodes: %w", err)
	}
	if filled > 0 {
		opt.stage("predict")
		opt.notice("the kept classifier has predicted %s without predictions", plural(int(filled), "node"))
	}
	return nil
}

// tellUnsettled says that the fit of a label model was ended too early; empty where it was not, or there is no model.
func tellUnsettled(m *labelmodel.Model) string {
	if m == nil || !m.Unsettled {
		return ""
	}
	return fmt.Sprintf("the label model had not converged after %d rounds: scores and the mislabel rate may be slightly off", labelmodel.MostSweeps)
}

// warningsOf are those of Run.Warnings. The model may be nil.
func warningsOf(homophily *LabelStatistics, model *labelmodel.Model, names []string) (warnings []string) {
	if warning := homophily.Warning(); warning != "" {
		warnings = append(warnings, warning)
	}
	switch {
	case model == nil:
	case model.Alike:
		warnings = append(warnings, "the predictions are too weak to tell wrong labels from hard ones, so wrong labels of all pairs of classes count as equally frequent; "+
			"if they are yours, look whether columns and rows are in the right order")
	default:
		warnings = append(warnings, tellExchanged(model, names)...)
	}
	return warnings
}

// tellExchanged names classes most of whose labels are the other one's, a text a pair. It takes predictions that know
// the names better than the labels, and neighbours that do not say the same as the labels.
func tellExchanged(m *labelmodel.Model, names []string) (warnings []string) {
	rate := m.Transition()
	for _, cell := range m.Flips {
		a, b := cell.Row, cell.Column
		if there, back := rate(b, a), rate(a, b); a < b && there > 0.5 && back > 0.5 {
			warnings = append(warnings, fmt.Sprintf("the labels or the predictions have the names of classes %q and %q exchanged: by the model, %.0f%% "+
				"of the first are labelled as the second, and %.0f%% of the second as the first. Nearly all their suspects come from that: put the names "+
				"right in one of the files, import and clean again", names[a], names[b], 100*there, 100*back))
		}
	}
	return warnings
}
