package cleaner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/naming"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/workplace"
	"github.com/graphcleaner/graphcleaner/kv"
)

// inputs holds the data of a snapshot that one cleaning reads.
type inputs struct {
	problem
	tx         *kv.Tx
	run        *Run            // without results
	wrongOrder string          // the answer of tellOrder for predictions from outside
	mixture    *rowstore.Store // joined predictions; nil: they are not
	free       func() error    // of the graph
}

// readInputs reads labels, splits, predictions and what people have said, and tells what is done with them. The caller
// closes the inputs.
func readInputs(ctx context.Context, tx *kv.Tx, place *workplace.Place, opt Options) (_ *inputs, err error) {
	last, err := lastRun(tx)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	if err == nil && last.Elsewhere != nil {
		opt.notice("run %d was made elsewhere, on a graph of %d nodes: this run is of the %d nodes that are here, and its "+
			"scores take the place of those",
			last.ID, last.Elsewhere.Nodes, tx.Shape().Present)
	}
	in := &inputs{tx: tx}
	if in.problem, err = readProblem(tx, opt); err != nil {
		return nil, err
	}
	in.place = place
	if in.run, err = in.newRun(opt); err != nil {
		return nil, err
	}
	if in.verdicts, err = decide.Verdicts(ctx, tx, in.labels); err != nil {
		return nil, err
	}
	if opt.Method == nil {
		if in.look, err = lastLook(ctx, tx, in.names); err != nil {
			return nil, err
		}
	}
	if in.look != nil && opt.Expect > 0 {
		opt.notice("the expected rate of %.4g%% is not used: the audit tells %.1f%%", 100*opt.Expect, 100*in.look.rate)
	}
	if err := in.readPredictions(ctx, opt); err != nil {
		return nil, err
	}
	if in.source == SourceImported {
		if in.wrongOrder, err = in.tellOrder(ctx); err != nil {
			return nil, err
		}
	}
	opt.warn(in.tellUntaught())
	in.graph, in.free = inSeries(in.graph)
	opt.stage("read")
	return in, nil
}

// Close gives back the memory and files of the inputs.
func (in *inputs) Close() error { return errors.Join(in.mixture.Close(), in.free()) }

// newRun is the run of the inputs, without results.
func (in *inputs) newRun(opt Options) (run *Run, err error) {
	run = &Run{
		Preset: opt.preset(), Hops: opt.Hops, Seed: opt.Seed, Classes: slices.Clone(in.names), PredictionSource: in.source,
	}
	if run.PredictionWrites, err = predictionWrites(in.tx); err != nil {
		return nil, err
	}
	err = run.takeSnapshot(in.tx)
	run.Decisions = run.Seen
	return run, err
}

// asGivenUse is Run.PredictionUse of predictions that are taken as they are, where the user asked for that.
const asGivenUse = "they are taken as they are, as was asked for"

// readPredictions finds the predictions. If they are taken as they are, nodes without are left out of what is tested
// and fitted. Else every node must have some, unless join predicts the others.
func (in *inputs) readPredictions(ctx context.Context, opt Options) error {
	matrix, err := in.tx.Matrix(PredictionsMatrix)
	if err != nil {
		return err
	}
	if in.predictions = inClassOrder(in.tx, matrix); !in.crossFitted {
		in.tellDrawn(opt)
	}
	isImported := in.source == SourceImported
	switch {
	case isImported && opt.Imported == AsGiven:
		in.run.PredictionUse = asGivenUse
	case isImported && opt.joinsImported():
		return nil
	case !isImported && opt.Imported != "":
		opt.warn(fmt.Sprintf("no predictions were imported: it does not matter that they are %s", opt.Imported))
	}
	unpredicted, err := nodesWithoutRow(ctx, in.tx, matrix)
	if err != nil || unpredicted.Len() == 0 {
		return err
	}
	if in.run.PredictionUse == "" {
		return missingRows(in.tx, unpredicted.Has)
	}
	in.leaveOut(unpredicted)
	without := tellUnpredicted(int64(unpredicted.Len()))
	opt.notice("%s", without)
	in.run.PredictionUse += "; " + without
	return nil
}

// tellUnpredicted says that nodes have no predictions.
func tellUnpredicted(count int64) string {
	return plural(int(count), "node") + " without predictions, and so without a score"
}

// leaveOut takes nodes out of the tested and fitted ones. Their labels still count for the nodes around them.
func (p *problem) leaveOut(nodes kv.NodeSet) {
	p.tested = slices.Clone(p.labels)
	for v := range nodes.All() {
		p.tested[v] = kv.NoClass
	}
	p.verdicts = slices.DeleteFunc(p.verdicts, func(verdict decide.Verdict) bool { return nodes.Has(verdict.Node) })
}

// join puts the joined predictions in the place of those from outside, where they are to be joined.
func (in *inputs) join(ctx context.Context, opt Options) (err error) {
	if in.source != SourceImported || !opt.joinsImported() {
		return nil
	}
	if in.features, _, err = baseFeatures(ctx, in.tx); err != nil {
		return err
	}
	var warns bool
	if in.mixture, in.run.PredictionUse, warns, err = combine(ctx, &in.problem, opt); err != nil {
		return err
	}
	if in.mixture == nil {
		if _, err := Predictions(in.tx); err != nil {
			return err
		}
	}
	if warns {
		opt.warn(in.run.PredictionUse)
	} else if in.run.PredictionUse != "" {
		opt.notice("%s", in.run.PredictionUse)
	}
	return nil
}

// finish puts a result into the run, and tells doubts about it.
func (in *inputs) finish(result *scoring, start time.Time, opt Options) {
	in.run.Started = start.UTC().Truncate(time.Second)
	in.run.Warnings = warningsOf(in.neighbors.homophily(), in.wrongOrder, result.model)
	for _, warning := range in.run.Warnings {
		opt.warn(warning)
	}
	in.run.MislabelRate, in.run.Threshold = result.rate, result.threshold
	in.run.Model, in.run.joint = result.model, result.joint
	in.run.FittingNodes, in.run.kept = int64(in.fitting), *in.kept
	in.run.takeLook(in.look)
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
// opt.Warn is told. Features are as they are stored.
func readProblem(tx *kv.Tx, opt Options) (p problem, err error) {
	if p, err = problemOf(tx); err != nil {
		return p, err
	}
	p.method = opt.Method
	if p.splits, p.drawn, err = Splits(tx, p.labels, opt.Seed); err != nil {
		return p, err
	}
	if !p.drawn {
		p.storeSplits = p.splits
	}
	if _, err = tx.Matrix(PredictionsMatrix); err == nil {
		p.source, err = predictionSource(tx)
	}
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return p, err
	}
	if features, err := tx.Matrix(FeaturesMatrix); err == nil {
		p.features = features
	} else if !errors.Is(err, kv.ErrNotFound) {
		return p, err
	}
	return p, p.settleSplits(opt)
}

// settleSplits draws splits in place of given ones that cannot be used, and says so.
func (p *problem) settleSplits(opt Options) (err error) {
	p.takeSplits(opt)
	if p.drawn || p.few == nil {
		return nil
	}
	opt.warn(fmt.Sprintf("the splits cannot be used (%v): others are drawn", p.few))
	p.drawn = true
	p.splits, err = drawSplits(p.order, p.labels, defaultShares, opt.Seed)
	p.takeSplits(opt)
	return err
}

// takeSplits finds out what the splits let the base classifier learn.
func (p *problem) takeSplits(opt Options) {
	ownBase := p.source != SourceImported || opt.joinsImported() && !p.isTooLargeToJoin()
	p.crossFitted = ownBase && p.crossFits()
	p.countFitting()
}

// tellDrawn says that a split is drawn where none is given.
func (p *problem) tellDrawn(opt Options) {
	if p.drawn && p.storeSplits == nil {
		opt.notice("no splits are given: the model learns from a tenth of the labels, which are drawn")
	}
}

// Verdicts returns what Clean takes from the decisions of a store, ascending by node: see [decide.Verdicts].
func Verdicts(ctx context.Context, tx *kv.Tx) ([]Verdict, error) {
	labels, err := readLabels(tx)
	if err != nil {
		return nil, err
	}
	return decide.Verdicts(ctx, tx, labels)
}

// checkLabels says early what no base classifier could repair: labels of less than two classes.
func checkLabels(tx *kv.Tx) error {
	labels, err := readLabels(tx)
	if err != nil {
		return err
	}
	return checkTwoClasses(labels, tx.Classes())
}

// checkTwoClasses returns ErrNoLabels or ErrOneClass if the nodes are given no two classes.
func checkTwoClasses(labels []kv.Class, names []string) error {
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
		return fmt.Errorf("nothing to clean: %w", ErrNoLabels)
	}
	return fmt.Errorf("all %d labelled nodes are %q, want at least two classes: %w",
		countLabelled(labels), names[first], ErrOneClass)
}

// A Split is the use of a node's label.
type Split uint8

// The splits, by the names that the column "split" has for them: none (or empty), train, val, test. No column has
// SplitUnused.
const (
	SplitNone       Split = iota // to train the built-in base classifier, as the training split
	SplitTrain                   // to train the base classifier
	SplitValidation              // to fit on, where the base classifier may have seen the labels of the others
	SplitTest                    // to measure the base classifier
	SplitUnused                  // of a drawn split, nodes in none of the shares: their labels teach nothing
)

// Teaches says whether the base classifier learns from such nodes.
func (s Split) Teaches() bool { return s == SplitTrain || s == SplitNone }

// splitColumn is the string column of a store that has the splits.
const splitColumn = "split"

// String returns the name by which ParseSplit knows it.
func (s Split) String() string {
	return [...]string{"none", "train", "val", "test", "unused"}[s]
}

// ParseSplit knows none (or ""), train, val (or valid, validation) and test, in upper or lower case. ErrSplit for
// others.
func ParseSplit(name string) (Split, error) {
	switch strings.ToLower(name) {
	case "", "none":
		return SplitNone, nil
	case "train":
		return SplitTrain, nil
	case "val", "valid", "validation":
		return SplitValidation, nil
	case "test":
		return SplitTest, nil
	}
	return SplitNone, fmt.Errorf("split %q: want train, val, test or none: %w", name, ErrSplit)
}

// Splits reads the column "split" of the store [n]. If there is no such column, Splits draws a split of the labelled
// nodes, with seed and in the order of the node file: 0.8 for training, 0.1 each for validation and test; drawn is then
// true. The validation split of a small graph gets more than a tenth, so that a model can be fitted on it. Every
// class with two or more nodes gets a training node, if there are enough training nodes. labels is [n]. For a name that
// is no split, the error is an ErrSplit with the node.
func Splits(tx *kv.Tx, labels []kv.Class, seed uint64) (splits []Split, drawn bool, err error) {
	values, err := tx.Reader(splitColumn)
	if errors.Is(err, kv.ErrNoColumn) {
		splits, err := drawSplits(tx.InFileOrder(), labels, defaultShares, seed)
		return splits, true, err
	}
	if err != nil {
		return nil, false, err
	}
	splits = make([]Split, tx.NumNodes())
	for v := range splits {
		value, err := values.At(kv.NodeID(v))
		if err != nil {
			return nil, false, err
		}
		if splits[v], err = splitOf(tx, kv.NodeID(v), value); err != nil {
			return nil, false, err
		}
	}
	return splits, false, nil
}

// splitOf is the split that a value of the column names; null names none.
func splitOf(tx *kv.Tx, v kv.NodeID, value kv.Value) (Split, error) {
	split, err := ParseSplit(value.String())
	if err != nil {
		err = naming.Node(tx, v, err)
	}
	return split, err
}
