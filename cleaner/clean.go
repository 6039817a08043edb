package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// What Clean writes, beside the Run.
const (
	ScoreColumn      = "score"      // single: the chance that the given label is wrong; null where unlabelled
	SuggestedColumn  = "suggested"  // class with the largest prediction, of every node
	ConfidenceColumn = "confidence" // single: that prediction
	RunColumn        = "run"        // int: Run.ID
	AgreementMatrix  = "agreement"  // Z [n×(2K+1)], columns P0 … PK, L1 … LK; NaN where unlabelled
)

// Clean scores every labelled node and suggests a label for every node. It writes the columns score, suggested,
// confidence and run, the matrix "agreement", the index on score, and the Run; all become visible at once. An index on
// label is created where there is none. Where the store has no predictions it first runs Predict, and says so by
// opt.Notice.
//
// It works on the store as it is when it begins, after Predict. The write lock is held only while the results are
// written: labels, edges and predictions may change meanwhile, and the results are those of the labels before; nodes
// added meanwhile get none. A cancelled or failed run leaves the store as it was, but for predictions and the label
// index, which are finished work and are found by the next run.
//
// The errors of too few labels are ErrNoLabels, ErrOneClass and ErrFewFittingNodes; of options, ErrOptions.
func Clean(ctx context.Context, s *kv.Store, opt Options) (*Run, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	if s.ReadOnly() {
		return nil, fmt.Errorf("clean: %w", kv.ErrReadOnly) // now, not when everything is computed
	}
	started := time.Now()
	if err := prepare(ctx, s, opt); err != nil {
		return nil, err
	}
	tx := s.Begin()
	defer tx.Close()
	p, err := readProblem(tx, opt)
	if err != nil {
		return nil, err
	}
	if p.predictions, err = Predictions(tx); err != nil {
		return nil, err
	}
	source, err := predictionSource(tx)
	if err != nil {
		return nil, err
	}
	result, err := score(ctx, p, variant{preset: opt.Preset}, opt)
	if err != nil {
		return nil, err
	}
	suggested, confidence, err := suggest(ctx, p.predictions, tx.NumNodes(), opt)
	if err != nil {
		return nil, err
	}

	run := &Run{
		Started:          started.UTC().Truncate(time.Second),
		Preset:           opt.Preset,
		Hops:             opt.Hops,
		Threshold:        opt.Threshold,
		Seed:             opt.Seed,
		Nodes:            int64(tx.NumNodes()),
		Edges:            tx.NumEdges(),
		Scored:           labelled(p.labels),
		Suspects:         suspects(result.scores, opt.Threshold),
		FittingNodes:     int64(result.fitting),
		PredictionSource: source,
		Classes:          slices.Clone(tx.Classes()),
		Detectors:        result.detectors,
	}
	run.setNoise(result.noise)
	began := time.Now()
	if err := writeRun(ctx, s, run, started, result, suggested, confidence); err != nil {
		return nil, err
	}
	opt.stage("write", began)
	return run, nil
}

// prepare makes what a cleaning needs and the store lacks: predictions, and the index on label.
func prepare(ctx context.Context, s *kv.Store, opt Options) error {
	var predicted, indexed bool
	err := s.View(func(tx *kv.Tx) error {
		if err := checkLabels(tx); err != nil {
			return err
		}
		column, _ := tx.Column(kv.LabelColumn)
		indexed = column.Indexed
		_, err := tx.Matrix(PredictionsMatrix)
		predicted = err == nil
		if errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if !predicted || !indexed {
		if err := checkBudget(ctx, s, opt, predicted); err != nil {
			return err
		}
	}
	if !predicted {
		opt.notice("no predictions in the store: training the built-in base classifier")
		_, err := Predict(ctx, s, PredictOptions{
			Seed:         opt.Seed,
			Workers:      opt.Workers,
			MemoryBudget: opt.MemoryBudget,
			Progress:     opt.Progress,
			OnStage:      opt.OnStage,
			Notice:       opt.Notice,
		})
		if err != nil {
			return fmt.Errorf("base predictions: %w", err)
		}
	}
	if !indexed {
		if err := index.Create(ctx, s, kv.LabelColumn); err != nil && !errors.Is(err, kv.ErrExists) {
			return fmt.Errorf("index on %s: %w", kv.LabelColumn, err)
		}
	}
	return nil
}

// checkBudget says, before predictions are trained or an index is made, that the budget is too small for them or for
// what comes after.
func checkBudget(ctx context.Context, s *kv.Store, opt Options, predicted bool) error {
	return s.View(func(tx *kv.Tx) error {
		silent := opt
		silent.Notice = nil // all of it is said when the problem is read again
		p, err := readProblem(tx, silent)
		if err != nil {
			return err
		}
		base := baseProblem{graph: tx, labels: p.labels, order: p.order, splits: p.splits}
		sizes, err := base.measured(ctx)
		if err != nil {
			return err
		}
		least := leastForScore(sizes, tx.NumNodes(), fittingIn(p.labels, p.splits), opt.Preset.draws(), opt.Hops)
		if !predicted {
			if base.features, _, err = baseFeatures(ctx, tx); err != nil {
				return err
			}
			training, err := base.leastForTraining(ctx, baseHops)
			if err != nil {
				return err
			}
			least = max(least, training)
		}
		return requireBudget("clean", opt.MemoryBudget, least)
	})
}

// checkLabels says early what no base classifier could mend: labels of less than two classes.
func checkLabels(tx *kv.Tx) error {
	labels, err := readLabels(tx)
	if err != nil {
		return err
	}
	given := slices.DeleteFunc(labels, func(y kv.Class) bool { return y == kv.NoClass })
	switch {
	case len(given) == 0:
		return fmt.Errorf("%d nodes, nothing to clean: %w", len(labels), ErrNoLabels)
	case !slices.ContainsFunc(given, func(y kv.Class) bool { return y != given[0] }):
		return fmt.Errorf("all %d labelled nodes are %q, want at least two classes: %w",
			len(given), tx.Classes()[given[0]], ErrOneClass)
	}
	return nil
}

// readLabels returns the given labels [n] by NodeID.
func readLabels(tx *kv.Tx) ([]kv.Class, error) {
	labels := make([]kv.Class, tx.NumNodes())
	return labels, tx.ReadClasses(kv.LabelColumn, labels)
}

func labelled(labels []kv.Class) (count int64) {
	for _, y := range labels {
		if y != kv.NoClass {
			count++
		}
	}
	return count
}

// readProblem reads the store's own labels and splits. Where its validation split cannot be fitted on, splits
// are drawn, and opt.Notice is told.
func readProblem(tx *kv.Tx, opt Options) (problem, error) {
	p := problem{graph: tx, classes: len(tx.Classes())}
	var err error
	if p.labels, err = readLabels(tx); err != nil {
		return p, err
	}
	if p.order, err = fileOrder(tx); err != nil {
		return p, err
	}
	var drawn bool
	if p.splits, drawn, err = Splits(tx, p.labels, opt.Seed); err != nil {
		return p, err
	}
	if drawn {
		opt.notice("no splits in the store: fitting on a validation split drawn from the labelled nodes")
	} else if err := p.checkFitting(p.fittingNodes()); err != nil {
		opt.notice("the store's splits cannot be used (%v): fitting on a validation split drawn from the labelled nodes", err)
		p.splits = drawSplits(p.order, p.labels, defaultShares, opt.Seed)
	}
	return p, nil
}

// writeRows is how many rows are handed to the store between two looks at the context.
const writeRows = 1 << 14

// writeRun gives the run its ID and makes it and all it found visible in one commit.
func writeRun(
	ctx context.Context, s *kv.Store, run *Run, started time.Time, result *scored, suggested []kv.Class,
	confidence []float32,
) (err error) {
	b, err := s.Bulk()
	if err != nil {
		return err
	}
	defer b.Abort()
	if run.ID, err = nextRunID(b.Tx()); err != nil {
		return err
	}
	scores, err := b.Column(ScoreColumn, kv.KindSingle)
	if err != nil {
		return err
	}
	suggestions, err := b.Column(SuggestedColumn, kv.KindClass)
	if err != nil {
		return err
	}
	confidences, err := b.Column(ConfidenceColumn, kv.KindSingle)
	if err != nil {
		return err
	}
	runs, err := b.Column(RunColumn, kv.KindInt)
	if err != nil {
		return err
	}
	agreement, err := b.Matrix(AgreementMatrix, featureNames(run.Hops))
	if err != nil {
		return err
	}
	byScore, err := index.NewBuilder(b, ScoreColumn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, byScore.Close()) }()

	width := featureWidth(run.Hops)
	singles := make([]float32, writeRows)
	for first := 0; first < len(suggested); first += writeRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(first+writeRows, len(suggested))
		for i, score := range result.scores[first:end] {
			v := kv.NodeID(first + i)
			singles[i] = float32(score)
			if err := runs.Put(v, kv.IntValue(run.ID)); err != nil {
				return err
			}
			if math.IsNaN(score) { // unlabelled
				continue
			}
			if err := byScore.Add(v, kv.FloatValue(score)); err != nil {
				return err
			}
			if err := agreement.Put(v, result.features[int(v)*width:][:width]); err != nil {
				return err
			}
		}
		if err := scores.PutFloats(kv.NodeID(first), singles[:end-first]); err != nil {
			return err
		}
		if err := suggestions.PutClasses(kv.NodeID(first), suggested[first:end]); err != nil {
			return err
		}
		if err := confidences.PutFloats(kv.NodeID(first), confidence[first:end]); err != nil {
			return err
		}
	}
	if err := byScore.Finish(); err != nil {
		return err
	}
	if err := writeJoint(b, runKey(run.ID), run.ConfidentJoint); err != nil {
		return err
	}
	return b.Commit(func(tx *kv.Tx) error {
		if err := byScore.Mark(tx); err != nil {
			return err
		}
		run.Seconds = time.Since(started).Seconds()
		return run.put(tx)
	})
}

// featureNames are the columns of the agreement features: P0 … PK, L1 … LK.
func featureNames(hops int) []string {
	var names []string
	for k := range hops + 1 {
		names = append(names, fmt.Sprintf("P%d", k))
	}
	for k := range hops {
		names = append(names, fmt.Sprintf("L%d", k+1))
	}
	return names
}

// Features returns the agreement features of the store's given labels, as AgreementFeatures, with hops (0: 3) for K:
// row-major [n×(2K+1)] by NodeID, unlabelled rows NaN. It needs predictions in the store (kv.ErrNotFound) and no run.
// opt.MemoryBudget counts the result and the labels: an *ops.BudgetError names the least that would do.
func Features(ctx context.Context, tx *kv.Tx, hops int, opt ops.Options) ([]float32, error) {
	if hops == 0 {
		hops = defaultHops
	}
	labels, err := readLabels(tx)
	if err != nil {
		return nil, err
	}
	predictions, err := Predictions(tx)
	if err != nil {
		return nil, err
	}
	if opt.MemoryBudget == 0 {
		opt.MemoryBudget = kv.DefaultMemoryBudget()
	}
	held, budget := labelBytes*int64(len(labels)), opt.MemoryBudget
	opt.MemoryBudget = max(1, budget-held) // 0 would ask for the default
	z, err := AgreementFeatures(ctx, tx, labels, predictions, [][]kv.Class{labels}, hops, opt)
	if small := (*ops.BudgetError)(nil); errors.As(err, &small) {
		return nil, &ops.BudgetError{Job: small.Job, Budget: budget, Least: small.Least + held}
	}
	if err != nil {
		return nil, err
	}
	return z[0], nil
}
