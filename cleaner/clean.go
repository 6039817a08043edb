package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
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
	opt, err = opt.withDefaults()
	if err != nil {
		return nil, err
	}
	if s.ReadOnly() {
		return nil, fmt.Errorf("clean: %w", kv.ErrReadOnly) // now, not when everything is computed
	}
	start := time.Now()
	defer func() {
		if err == nil {
			opt.stage("write") // and what is given back at the end
		}
	}()
	tx, err := begin(ctx, s, opt)
	if err != nil {
		return nil, err
	}
	defer tx.Close()
	last, err := lastElsewhere(tx)
	if err != nil {
		return nil, err
	}
	if last != nil {
		opt.notice("run %d was made elsewhere, on a graph of %d nodes: this run is of the %d nodes that are here, and its scores take the place of those",
			last.ID, last.Elsewhere.Nodes, tx.Shape().Present)
	}
	place, err := openWorkplace(ctx, s, tx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	p, err := readProblem(tx, opt)
	if err != nil {
		return nil, err
	}
	p.place = place
	var free func() error
	p.graph, free = inSeries(p.graph)
	defer func() { err = errors.Join(err, free()) }()
	source, err := predictionSource(tx)
	if err != nil {
		return nil, err
	}
	imported := source == SourceImported
	if !imported && opt.Imported != "" {
		opt.warn(fmt.Sprintf("no predictions were imported: it does not matter that they are %s", opt.Imported))
	}
	joined := imported && opt.joinsImported()
	read := Predictions
	if joined || imported && opt.Imported == AsGiven { // nodes without a row are predicted by the built-in classifier, or not scored
		read = somePredictions
	}
	if p.predictions, err = read(tx); err != nil {
		return nil, err
	}
	if !p.crossFitted {
		p.tellDrawn(opt)
	}
	writes, err := predictionWrites(tx)
	if err != nil {
		return nil, err
	}
	newest, err := decide.Newest(tx)
	if err != nil {
		return nil, err
	}
	commit, err := tx.LastCommit()
	if err != nil {
		return nil, err
	}
	if p.verdicts, err = readVerdicts(ctx, tx, p.labels); err != nil {
		return nil, err
	}
	if opt.Method == nil {
		if p.look, err = lastLook(ctx, tx, p.names); err != nil {
			return nil, err
		}
	}
	if p.look != nil && opt.Expect > 0 {
		opt.notice("the expected rate of %.4g%% is not used: the audit tells %.1f%%", 100*opt.Expect, 100*p.look.rate)
	}
	var use string
	if imported && opt.Imported == AsGiven {
		if use, err = p.takeAsGiven(tx, opt); err != nil {
			return nil, err
		}
	}
	opt.warn(p.tellUntaught())
	key, err := runFingerprint(tx, opt, newest)
	if err != nil {
		return nil, err
	}
	if err := place.beginRun(key); err != nil {
		return nil, err
	}
	base := p.base()
	if joined {
		if base.features, _, err = baseFeatures(ctx, tx); err != nil {
			return nil, err
		}
	}
	opt.stage("read")
	if p.sizes, err = base.graphSizes(ctx, opt.ops(0)); err != nil {
		return nil, err
	}
	if joined {
		if err := p.checkJoining(ctx, base, opt); err != nil {
			return nil, err
		}
	}
	diagonals, err := p.computeDiagonals(ctx, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, diagonals.Close()) }()
	homophily, err := p.homophily(ctx, tx, opt.Workers)
	if err != nil {
		return nil, err
	}
	opt.stage("count")
	if joined {
		mixture, said, combining := combine(ctx, &p, base, opt)
		if combining != nil {
			return nil, combining
		}
		defer func() { err = errors.Join(err, mixture.Detach()) }()
		if mixture == nil {
			if _, err := Predictions(tx); err != nil {
				return nil, err
			}
		}
		if use = said.Said; said.Warns {
			opt.warn(use)
		} else if use != "" {
			opt.notice("%s", use)
		}
	}
	result, err := score(ctx, p, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	warnings := warningsOf(homophily, result.model, tx.Classes())
	for _, warning := range warnings {
		opt.warn(warning)
	}
	opt.warn(tellUnsettled(result.model))

	run = &Run{
		Started:          start.UTC().Truncate(time.Second),
		Preset:           opt.preset(),
		Hops:             opt.Hops,
		Threshold:        result.threshold,
		Seed:             opt.Seed,
		Nodes:            int64(tx.Shape().Present),
		Edges:            tx.Shape().Edges,
		Scored:           int64(countLabelled(p.underTest())),
		FittingNodes:     int64(result.fitting),
		PredictionSource: source,
		PredictionUse:    use,
		PredictionWrites: writes,
		Warnings:         warnings,
		Decisions:        newest,
		Seen:             newest,
		Commit:           commit,
		Classes:          slices.Clone(tx.Classes()),
		MislabelRate:     result.rate,
		Model:            result.model,
		joint:            result.joint,
		Direction:        opt.Direction,
	}
	run.takeLook(p.look)
	run.meanScores, run.labelCounts = meanScoresByLabel(p.underTest(), result.scores.Data, p.classes)
	opt.stage("count")
	if err := writeRun(ctx, s, tx, run, start, &p, result, opt.Workers); err != nil {
		return nil, err
	}
	return run, place.finishRun()
}

// asGivenUse is Run.PredictionUse of predictions that are taken as they are, where the user asked for that.
const asGivenUse = "they are taken as they are, as was asked for"

// takeAsGiven leaves the nodes without predictions out of what is tested and fitted, and says what is done with the
// others.
func (p *problem) takeAsGiven(tx *kv.Tx, opt Options) (use string, err error) {
	use = asGivenUse
	matrix, err := tx.Matrix(PredictionsMatrix)
	if err != nil {
		return "", err
	}
	unpredicted, some, err := nodesWithoutRow(tx, matrix)
	if err != nil || !some {
		return use, err
	}
	p.leaveOut(unpredicted)
	count, err := countPresent(tx, unpredicted)
	if err != nil || count == 0 {
		return use, err
	}
	without := tellUnpredicted(count)
	opt.notice("%s", without)
	return use + "; " + without, nil
}

// tellUnpredicted says that nodes have no predictions.
func tellUnpredicted(count int64) string {
	return plural(int(count), "node") + " without predictions, and so without a score"
}

// leaveOut takes nodes out of what is tested and fitted. Their labels still count for the nodes around them.
func (p *problem) leaveOut(nodes kv.NodeSet) {
	p.tested = slices.Clone(p.labels)
	for v := range nodes.All() {
		p.tested[v] = kv.NoClass
	}
	p.verdicts = slices.DeleteFunc(p.verdicts, func(verdict decide.Verdict) bool { return nodes.Has(verdict.Node) })
}

// runFingerprint names everything that what is kept of a run depends on, and some matrices.
func runFingerprint(tx *kv.Tx, opt Options, newest int64, matrices ...string) (string, error) {
	// The features are those of the classifier that combine trains.
	content, err := tx.Version([]string{kv.LabelColumn, splitColumn}, append(matrices, PredictionsMatrix, FeaturesMatrix))
	if err != nil {
		return "", err
	}
	return fingerprint(markFormat, content, opt.preset(), opt.Hops, opt.Seed, opt.Direction, opt.Expect, opt.Threshold, newest,
		opt.Imported), nil
}

// prepare makes what a cleaning needs and the store lacks: predictions, and the index on label.
func prepare(ctx context.Context, s *kv.Store, opt Options) error {
	var predicted, builtIn, indexed bool
	err := s.View(func(tx *kv.Tx) (err error) {
		if _, err := along(tx, opt.Direction); err != nil {
			return err
		}
		if err := checkLabels(tx); err != nil {
			return err
		}
		column, _ := tx.Column(kv.LabelColumn)
		indexed = column.Indexed
		_, err = tx.Matrix(PredictionsMatrix)
		if predicted = err == nil; predicted {
			source, err := predictionSource(tx)
			builtIn = source == SourceBuiltIn // imported ones are joined anew
			return err
		}
		if errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if builtIn {
		if err := fillPredictions(ctx, s, opt); err != nil && !errors.Is(err, errNoClassifier) {
			return err
		}
	}
	var disagrees *bool
	if !predicted || !indexed {
		if disagrees, err = checkBudget(ctx, s, opt, predicted); err != nil {
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
			Direction:    opt.Direction,
			disagrees:    disagrees,
		})
		if err != nil {
			return fmt.Errorf("base predictions: %w", err)
		}
	}
	if !indexed {
		if err := index.Create(ctx, s, kv.LabelColumn); err != nil && !errors.Is(err, kv.ErrExists) {
			return fmt.Errorf("index on %s: %w", kv.LabelColumn, err)
		}
		opt.stage("index")
	}
	return nil
}

// begin prepares a run and returns its snapshot. If nodes were added meanwhile that the kept classifier can predict, it
// prepares again.
func begin(ctx context.Context, s *kv.Store, opt Options) (*kv.Tx, error) {
	for {
		before := 0
		if err := s.View(func(tx *kv.Tx) error { before = tx.NumNodes(); return nil }); err != nil {
			return nil, err
		}
		if err := prepare(ctx, s, opt); err != nil {
			return nil, err
		}
		tx := s.Begin()
		if tx.NumNodes() == before {
			return tx, nil
		}
		missing, err := unpredictedIn(ctx, tx)
		if err == nil && !missing {
			return tx, nil
		}
		tx.Close()
		if err != nil {
			return nil, err
		}
	}
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
	filled, err := predictMissing(ctx, s, PredictOptions{
		Seed: opt.Seed, Workers: opt.Workers, MemoryBudget: opt.MemoryBudget, Progress: opt.Progress, OnStage: opt.OnStage,
	})
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

// readLabels returns the given labels [n] by NodeID.
func readLabels(tx *kv.Tx) ([]kv.Class, error) {
	labels := make([]kv.Class, tx.NumNodes())
	return labels, tx.ReadClasses(kv.LabelColumn, kv.Range{End: kv.NodeID(tx.NumNodes())}, labels)
}

func countLabelled(labels []kv.Class) (count int) {
	for _, y := range labels {
		if y != kv.NoClass {
			count++
		}
	}
	return count
}

// readProblem reads the store's own labels and splits. If its fitting set does not suffice, splits are drawn, and
// opt.Warn is told.
func readProblem(tx *kv.Tx, opt Options) (problem, error) {
	p := problem{classes: len(tx.Classes()), names: tx.Classes(), order: tx.InFileOrder(), method: opt.Method}
	var err error
	if p.graph, err = along(tx, opt.Direction); err != nil {
		return p, err
	}
	if p.labels, err = readLabels(tx); err != nil {
		return p, err
	}
	if p.splits, p.drawn, err = Splits(tx, p.labels, opt.Seed); err != nil {
		return p, err
	}
	if !p.drawn {
		p.storeSplits = p.splits
	}
	if p.ownBase, err = p.findOwnBase(tx, opt); err != nil {
		return p, err
	}
	return p, p.settleSplits(opt)
}

// findOwnBase finds out what ownBase is.
func (p *problem) findOwnBase(tx *kv.Tx, opt Options) (bool, error) {
	_, err := tx.Matrix(PredictionsMatrix)
	if errors.Is(err, kv.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	source, err := predictionSource(tx)
	joined := opt.joinsImported() && joins(len(p.labels), p.classes)
	return source == SourceBuiltIn || joined, err
}

// settleSplits draws splits in place of given ones that cannot be used, and says so.
func (p *problem) settleSplits(opt Options) error {
	p.learn()
	if p.drawn {
		return nil
	}
	_, err := p.checkFitting()
	if err == nil {
		return nil
	}
	opt.warn(fmt.Sprintf("the splits cannot be used (%v): others are drawn", err))
	p.drawn = true
	p.splits, err = drawSplits(p.order, p.labels, defaultShares, opt.Seed)
	p.learn()
	return err
}

// learn finds out what the splits let the base classifier learn.
func (p *problem) learn() {
	p.crossFitted = p.ownBase && p.base().crossFits()
	p.taught = p.countTaught()
}

// tellDrawn says that a split is drawn where none is given.
func (p *problem) tellDrawn(opt Options) {
	if p.drawn && p.storeSplits == nil {
		opt.notice("no splits are given: the model learns from a tenth of the labels, which are drawn")
	}
}

// Verdicts returns what Clean takes from the decisions of a store, ascending by node: see [decide.Verdicts]. The score
// of a run that does not give chances is NaN.
func Verdicts(ctx context.Context, tx *kv.Tx) ([]Verdict, error) {
	labels, err := readLabels(tx)
	if err != nil {
		return nil, err
	}
	return readVerdicts(ctx, tx, labels)
}

// readVerdicts returns what people have said of labels. Scores that are no chances, of runs with another preset, are
// NaN.
func readVerdicts(ctx context.Context, tx *kv.Tx, labels []kv.Class) ([]decide.Verdict, error) {
	verdicts, err := decide.Verdicts(ctx, tx, labels)
	calibrated := make(map[int64]bool)
	for i, verdict := range verdicts {
		if _, ok := calibrated[verdict.Run]; !ok {
			run, err := readRun(tx, runKey(verdict.Run))
			if err != nil && !errors.Is(err, kv.ErrNotFound) {
				return nil, err
			}
			calibrated[verdict.Run] = err == nil && run.Preset == PresetDefault
		}
		if !calibrated[verdict.Run] {
			verdicts[i].Score = math.NaN()
		}
	}
	return verdicts, err
}

// writeRows is how many rows are handed to the store at once.
const writeRows = 1 << 13
