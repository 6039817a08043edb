package cleaner

import (
	"context"
	"errors"
	"fmt"
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

	// AgreementErrorMatrix has the standard errors of Z, in its columns, from those se_k of diagonals that were
	// sampled: se_k(v)·P[v][y] of (S_k P)[v][y], se_k(v) of (S_k Y)[v][y], y the given label. There is none where all
	// diagonals are exact.
	AgreementErrorMatrix = "agreement_error"
)

// Clean scores every labelled node and suggests a label for every node. It writes the columns score, suggested,
// confidence and run, the matrix "agreement", the index on score and those that the other columns had, and the Run; all
// become visible at once. An index on label is created where there is none. Where the store has no predictions it first
// runs Predict, and says so by opt.Notice.
//
// It works on the store as it is when it begins, after Predict. The write lock is held only while the results are
// written: labels, edges and predictions may change meanwhile, and the results are those of the labels before; nodes
// added meanwhile get none. A cancelled or failed run leaves the store as it was, but for predictions and the label
// index, which are finished work and are found by the next run.
//
// The errors of too few labels are ErrNoLabels, ErrOneClass and ErrFewFittingNodes; of options, ErrOptions.
func Clean(ctx context.Context, s *kv.Store, opt Options) (run *Run, err error) {
	opt, err = opt.withDefaults()
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
	if p.predictions, err = Predictions(tx); err != nil {
		return nil, err
	}
	source, err := predictionSource(tx)
	if err != nil {
		return nil, err
	}
	decided, err := lastDecision(tx)
	if err != nil {
		return nil, err
	}
	key, err := runFingerprint(tx, opt)
	if err != nil {
		return nil, err
	}
	if err := place.beginRun(key); err != nil {
		return nil, err
	}
	result, err := score(ctx, p, variant{preset: opt.Preset}, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()

	run = &Run{
		Started:          started.UTC().Truncate(time.Second),
		Preset:           opt.Preset,
		Hops:             opt.Hops,
		Threshold:        result.threshold,
		Seed:             opt.Seed,
		Nodes:            int64(tx.NumNodes()),
		Edges:            tx.NumEdges(),
		Scored:           int64(labelled(p.labels)),
		Suspects:         suspects(result.scores.Data, result.threshold),
		FittingNodes:     int64(result.fitting),
		PredictionSource: source,
		Decisions:        decided.Seq,
		Classes:          slices.Clone(tx.Classes()),
		MislabelRate:     result.rate,
		Detectors:        result.detectors,
		Model:            result.model,
		Diagonal:         opt.Diagonal,
		Direction:        opt.Direction,
	}
	if opt.Diagonal == DiagonalSampled {
		run.DiagonalSamples = diagonalSamples
	}
	run.setNoise(result.noise)
	if opt.Preset == PresetDefault {
		run.meanScores, run.labelCounts = meanScoresByLabel(p.labels, result.scores.Data, p.classes)
	}
	fitting, err := newYardstick(p, result)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := writeRun(ctx, s, run, started, p.predictions, result, fitting, opt.Workers); err != nil {
		return nil, err
	}
	opt.stage("write", began)
	return run, place.finishRun()
}

// runFingerprint names everything that what is kept of a run depends on.
func runFingerprint(tx *kv.Tx, opt Options) (string, error) {
	graph, err := tx.GraphVersion()
	if err != nil {
		return "", err
	}
	labels, err := tx.ColumnVersion(kv.LabelColumn)
	if err != nil {
		return "", err
	}
	splits, err := tx.ColumnVersion(splitColumn)
	if err != nil && !errors.Is(err, kv.ErrNoColumn) {
		return "", err
	}
	predictions, err := tx.MatrixVersion(PredictionsMatrix)
	if err != nil {
		return "", err
	}
	return fingerprint(markFormat, graph, labels, splits, predictions, opt.Preset, opt.Hops, opt.Seed, opt.Diagonal,
		opt.Direction), nil
}

// prepare makes what a cleaning needs and the store lacks: predictions, and the index on label.
func prepare(ctx context.Context, s *kv.Store, opt Options) error {
	var predicted, indexed bool
	err := s.View(func(tx *kv.Tx) error {
		if _, err := opt.graphFor(tx); err != nil {
			return err
		}
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
			Direction:    opt.Direction,
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
		base := baseProblem{graph: p.graph, labels: p.labels, order: p.order, splits: p.splits}
		sizes, err := base.measured(ctx)
		if err != nil {
			return err
		}
		least := leastForScore(sizes, tx.NumNodes(), fittingIn(p.labels, p.splits), opt.Hops)
		if !predicted {
			if base.features, _, err = baseFeatures(ctx, tx); err != nil {
				return err
			}
			training, err := base.leastForTraining(ctx)
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
	first := kv.NoClass
	for _, y := range labels {
		if y != kv.NoClass && first == kv.NoClass {
			first = y
		}
		if y != kv.NoClass && y != first {
			return nil
		}
	}
	if first == kv.NoClass {
		return fmt.Errorf("%d nodes, nothing to clean: %w", len(labels), ErrNoLabels)
	}
	return fmt.Errorf("all %d labelled nodes are %q, want at least two classes: %w",
		labelled(labels), tx.Classes()[first], ErrOneClass)
}

// readLabels returns the given labels [n] by NodeID.
func readLabels(tx *kv.Tx) ([]kv.Class, error) {
	labels := make([]kv.Class, tx.NumNodes())
	return labels, tx.ReadClasses(kv.LabelColumn, labels)
}

func labelled(labels []kv.Class) (count int) {
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
	p := problem{classes: len(tx.Classes()), order: tx.InFileOrder()}
	var err error
	if p.graph, err = opt.graphFor(tx); err != nil {
		return p, err
	}
	if p.labels, err = readLabels(tx); err != nil {
		return p, err
	}
	var drawn bool
	if p.splits, drawn, err = Splits(tx, p.labels, opt.Seed); err != nil {
		return p, err
	}
	if drawn {
		opt.notice("no splits in the store: fitting on a validation split drawn from the labelled nodes")
		return p, nil
	}
	if _, err := p.checkFitting(); err != nil {
		opt.notice("the store's splits cannot be used (%v): fitting on a validation split drawn from the labelled nodes", err)
		p.splits, err = drawSplits(p.order, p.labels, defaultShares, opt.Seed)
		return p, err
	}
	return p, nil
}

// writeRows is how many rows are handed to the store at once.
const writeRows = 1 << 13

// A written block is what a run says of the rows of some nodes.
type written struct {
	rows       kv.Range
	values     []float32 // predictions of some rows at a time
	features   []float32 // [rows×(2K+1)]
	suggested  []kv.Class
	confidence []float32
}

// read computes the block of some rows.
func (w *written) read(rows kv.Range, predictions ops.Source, features *agreement) error {
	count, c := int(rows.End-rows.First), predictions.Width()
	w.rows = rows
	w.features = resize(w.features, count*features.width)
	if err := features.Read(rows, 0, features.width, w.features); err != nil {
		return err
	}
	w.suggested, w.confidence = w.suggested[:0], resize(w.confidence, 0)
	step := rowsAtOnce(c)
	for first := rows.First; first < rows.End; first += kv.NodeID(step) {
		some := kv.Range{First: first, End: min(first+kv.NodeID(step), rows.End)}
		w.values = resize(w.values, int(some.End-some.First)*c)
		if err := predictions.Read(some, 0, c, w.values); err != nil {
			return err
		}
		for at := 0; at < int(some.End-some.First); at++ {
			y, p := largest(w.values[at*c : (at+1)*c])
			w.suggested, w.confidence = append(w.suggested, y), append(w.confidence, p)
		}
	}
	return nil
}

// A runWriter has the writers of what Clean writes by node.
type runWriter struct {
	run                 *Run
	scores, confidences *kv.ColumnWriter
	suggestions, runs   *kv.ColumnWriter
	agreement           *kv.MatrixWriter
	classes             []string

	// The indexes: that on score, and of the others those that there were before, nil where there was none.
	byScore, byConfidence *index.Builder
	bySuggestion, byRun   *index.Builder

	standardErrors func(k int) []float64 // of the diagonals; nil: exact
	deviations     *kv.MatrixWriter      // of the agreement; nil likewise
	deviation      []float32             // of a row
	sum            float64               // of all that are not exact
	count          int64
}

func newRunWriter(b *kv.Bulk, run *Run, standardErrors func(k int) []float64) (w *runWriter, err error) {
	w = &runWriter{run: run, standardErrors: standardErrors, classes: b.Tx().Classes()}
	if standardErrors != nil {
		w.deviation = make([]float32, featureWidth(run.Hops))
		if w.deviations, err = b.Matrix(AgreementErrorMatrix, featureNames(run.Hops)); err != nil {
			return nil, err
		}
	} else if err := b.DropMatrix(AgreementErrorMatrix); err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	if w.scores, err = b.Column(ScoreColumn, kv.KindSingle); err != nil {
		return nil, err
	}
	if w.suggestions, err = b.Column(SuggestedColumn, kv.KindClass); err != nil {
		return nil, err
	}
	if w.confidences, err = b.Column(ConfidenceColumn, kv.KindSingle); err != nil {
		return nil, err
	}
	if w.runs, err = b.Column(RunColumn, kv.KindInt); err != nil {
		return nil, err
	}
	if w.agreement, err = b.Matrix(AgreementMatrix, featureNames(run.Hops)); err != nil {
		return nil, err
	}
	return w, w.beginIndexes(b)
}

// beginIndexes begins the index on score, and those on the other columns that had one, which is lost with what they held.
func (w *runWriter) beginIndexes(b *kv.Bulk) (err error) {
	for _, column := range []struct {
		name    string
		builder **index.Builder
	}{
		{ScoreColumn, &w.byScore}, {ConfidenceColumn, &w.byConfidence},
		{SuggestedColumn, &w.bySuggestion}, {RunColumn, &w.byRun},
	} {
		if before, _ := b.Tx().Column(column.name); before.Indexed || column.name == ScoreColumn {
			if *column.builder, err = index.NewBuilder(b, column.name); err != nil {
				return errors.Join(err, w.closeIndexes())
			}
		}
	}
	return nil
}

// indexes are those that are written.
func (w *runWriter) indexes() []*index.Builder {
	all := []*index.Builder{w.byScore, w.byConfidence, w.bySuggestion, w.byRun}
	return slices.DeleteFunc(all, func(b *index.Builder) bool { return b == nil })
}

func (w *runWriter) closeIndexes() (err error) {
	for _, b := range w.indexes() {
		err = errors.Join(err, b.Close())
	}
	return err
}

// addEntries adds what row i of a block has in the indexes that users asked for.
func (w *runWriter) addEntries(block *written, i int) error {
	v := block.rows.First + kv.NodeID(i)
	if w.byConfidence != nil {
		if err := w.byConfidence.Add(v, kv.FloatValue(float64(block.confidence[i]))); err != nil {
			return err
		}
	}
	if class := block.suggested[i]; w.bySuggestion != nil && class != kv.NoClass {
		if err := w.bySuggestion.Add(v, kv.StringValue(w.classes[class])); err != nil {
			return err
		}
	}
	if w.byRun != nil {
		return w.byRun.Add(v, kv.IntValue(w.run.ID))
	}
	return nil
}

// put writes a block, scores those of its rows.
func (w *runWriter) put(block *written, scores []float32) error {
	width := featureWidth(w.run.Hops)
	for i, score := range scores {
		v := block.rows.First + kv.NodeID(i)
		if err := w.runs.Put(v, kv.IntValue(w.run.ID)); err != nil {
			return err
		}
		if err := w.addEntries(block, i); err != nil {
			return err
		}
		if score != score { // NaN: unlabelled
			continue
		}
		if err := w.byScore.Add(v, kv.FloatValue(float64(score))); err != nil {
			return err
		}
		if err := w.agreement.Put(v, block.features[i*width:][:width]); err != nil {
			return err
		}
		if err := w.putDeviation(v, block.features[i*width]); err != nil {
			return err
		}
	}
	if err := w.scores.PutFloats(block.rows.First, scores); err != nil {
		return err
	}
	if err := w.suggestions.PutClasses(block.rows.First, block.suggested); err != nil {
		return err
	}
	return w.confidences.PutFloats(block.rows.First, block.confidence)
}

// putDeviation writes the standard errors of the features of a node whose label is given the chance p.
func (w *runWriter) putDeviation(v kv.NodeID, p float32) error {
	if w.deviations == nil {
		return nil
	}
	clear(w.deviation)
	hops := w.run.Hops
	for k := 1; k <= hops; k++ {
		sampled := w.standardErrors(k)
		if sampled == nil {
			continue
		}
		w.deviation[k] = float32(sampled[v] * float64(p))
		w.deviation[hops+k] = float32(sampled[v])
		for _, x := range []float32{w.deviation[k], w.deviation[hops+k]} {
			w.sum += float64(x)
			w.count++
			w.run.LargestFeatureError = max(w.run.LargestFeatureError, float64(x))
		}
	}
	return w.deviations.Put(v, w.deviation)
}

// writeRun gives the run its ID and makes it and all it found visible in one commit.
func writeRun(
	ctx context.Context, s *kv.Store, run *Run, started time.Time, predictions ops.Source, result *scored,
	fitting *yardstick, workers int,
) (err error) {
	b, err := s.Bulk()
	if err != nil {
		return err
	}
	defer b.Abort()
	if run.ID, err = nextRunID(b.Tx()); err != nil {
		return err
	}
	w, err := newRunWriter(b, run, result.standardErrors)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.closeIndexes()) }()
	n := len(result.scores.Data)
	rows := func(block int) kv.Range {
		return kv.Range{First: kv.NodeID(block * writeRows), End: kv.NodeID(min((block+1)*writeRows, n))}
	}
	err = inOrder(ctx, workers, (n+writeRows-1)/writeRows,
		func(block int, into *written) error { return into.read(rows(block), predictions, result.features) },
		func(block int, from *written) error {
			return w.put(from, result.scores.Data[from.rows.First:from.rows.End])
		})
	if err != nil {
		return err
	}
	if w.count > 0 {
		run.MeanFeatureError = w.sum / float64(w.count)
	}
	for _, b := range w.indexes() {
		if err := b.Finish(); err != nil {
			return err
		}
	}
	if err := writeJoint(b, runKey(run.ID), run.ConfidentJoint); err != nil {
		return err
	}
	return b.Commit(func(tx *kv.Tx) error {
		for _, b := range w.indexes() {
			if err := b.Mark(tx); err != nil {
				return err
			}
		}
		fitting.Run = run.ID
		if err := tx.PutDocument(detectorsSpace, yardstickKey, fitting); err != nil {
			return err
		}
		run.Seconds = time.Since(started).Seconds()
		return run.put(tx)
	})
}

// inOrder computes blocks on all workers and hands them to use in ascending order, from the caller's goroutine, while the
// next are computed.
func inOrder[T any](
	ctx context.Context, workers, blocks int, compute func(block int, into *T) error, use func(block int, from *T) error,
) error {
	round := ops.Workers(workers)
	var halves [2][]T
	halves[0], halves[1] = make([]T, round), make([]T, round)
	for first := -round; first < blocks; first += round {
		next, last := max(first+round, 0), first
		computed := make(chan error, 1)
		go func() {
			computed <- ops.Parallel(ctx, round, min(round, max(blocks-next, 0)), func(_ context.Context, _, i int) error {
				return compute(next+i, &halves[next/round%2][i])
			})
		}()
		var err error
		for block := max(last, 0); block < min(last+round, blocks) && err == nil; block++ {
			err = use(block, &halves[block/round%2][block%round])
		}
		if err := errors.Join(err, <-computed); err != nil {
			return err
		}
	}
	return nil
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

// Features computes the agreement features of the store's given labels, as AgreementFeatures, with hops (0: 3) for K and
// along a direction: [n×(2K+1)] by NodeID, unlabelled rows NaN, which are read as of an ops.Source and given back by
// Close. They lie in temporary files. Diagonals that a cleaning has kept are used. It needs predictions in the store
// (kv.ErrNotFound) and no run. opt.MemoryBudget counts the labels: an *ops.BudgetError names the least that would do.
func Features(
	ctx context.Context, s *kv.Store, tx *kv.Tx, hops int, direction kv.Direction, opt ops.Options,
) (*FeatureRows, error) {
	if hops == 0 {
		hops = defaultHops
	}
	graph, err := along(tx, direction)
	if err != nil {
		return nil, err
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
	place, err := readingPlace(s, tx)
	if err != nil {
		return nil, err
	}
	z, err := agreementRows(ctx, graph, labels, predictions, [][]kv.Class{labels}, hops, place, opt)
	if small := (*ops.BudgetError)(nil); errors.As(err, &small) {
		return nil, &ops.BudgetError{Job: small.Job, Budget: budget, Least: small.Least + held}
	}
	if err != nil {
		return nil, err
	}
	return &FeatureRows{z[0]}, nil
}

// FeatureRows are the agreement features of every node, [n×(2K+1)]. Read and Width are those of an ops.Source.
type FeatureRows struct{ *agreement }
