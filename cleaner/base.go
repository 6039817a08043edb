package cleaner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A baseProblem is what a base classifier is trained on.
type baseProblem struct {
	graph    ops.Graph
	features ops.Source // [n×d]; nil: structure alone
	order    nodeOrder
	labels   []kv.Class // [n] given labels: see teaches and stops
	classes  int
	splits   []Split // [n]
	drawn    bool    // splits were drawn: the store has none, or none that fit
	place    *workplace

	// observe, if not nil, sees the network after every epoch of training, with what it learns from. Both are borrowed
	// for the call, whose error ends the training.
	observe func(net *nn.Network, train *lessons) error

	sizes     *ops.Sizes // of graph; nil until measured
	disagrees *bool      // neighbours, so that both inputs are tried; nil until counted

	keptLabelHops int // over how many hops a kept classifier has gathered training labels; 0: there is none
}

// A role is what the label of a node does to the base classifier.
type role func(v kv.NodeID) bool

// teaches reports whether the network learns the label of a node.
func (p *baseProblem) teaches(v kv.NodeID) bool { return teaches(p.labels, p.splits, v) }

// stops reports whether the label of a node tells when to stop.
func (p *baseProblem) stops(v kv.NodeID) bool {
	return p.labels[v] != kv.NoClass && p.splits[v] == SplitValidation
}

// hasFeatures reports whether the inputs are the features.
func (p *baseProblem) hasFeatures() bool { return p.features != nil && p.features.Width() > 0 }

// How the base classifier is trained.
const (
	baseHops       = 2
	mostBaseHops   = 10
	baseUnits      = 64
	baseBatch      = 256
	baseRate       = 0.01
	baseDecay      = 0.05
	baseDropout    = 0.5 // of hidden activations
	baseWide       = 64  // features of which some can be spared: see inputDropouts
	leastFoldNodes = 40  // nodes that are learned from in folds
	leastFolds     = 4
	mostFolds      = 10
	foldedRows     = 2048 // are shared out to that many folds: few nodes cannot spare a quarter of them
	baseEpochs     = 200
	basePatience   = 10    // epochs without a better validation loss
	baseMost       = 40000 // steps
	baseLook       = 8     // steps at least from one look at the validation nodes to the next

	// Of the training nodes no more are learned from, and of the validation nodes no more looked at, drawn uniformly:
	// a network of this size learns nothing from others, and their inputs would not fit into memory.
	baseTraining   = 1 << 19
	baseValidation = 1 << 17
)

// baseLeast is how many steps there are before training may stop; tests that are not about what it learns have fewer.
var baseLeast = 400

// inputDropouts are tried on the first fold, and the one with the least validation loss is kept: few labels want much,
// many want little. If there is no validation it is the first.
var inputDropouts = []float64{0.5, 0.2}

// trainBase trains the base classifier and predicts every node. The caller closes the result.
func trainBase(
	ctx context.Context, p baseProblem, opt PredictOptions,
) (predictions *rowstore.Store, report *PredictReport, err error) {
	predictions, t, err := p.trainAndPredict(ctx, opt)
	if err != nil {
		return nil, nil, err
	}
	return predictions, t.report, nil
}

// trainAndPredict is trainBase that returns the classifier too.
func (p *baseProblem) trainAndPredict(ctx context.Context, opt PredictOptions) (predictions *rowstore.Store, t *trainedBase, err error) {
	began := time.Now()
	if t, err = p.train(ctx, opt); err != nil {
		return nil, nil, err
	}
	opt = t.opt
	predictions, err = p.predictAll(ctx, t.fit, t.inputs, opt, t.budget)
	err = errors.Join(err, t.inputs.Close())
	if err == nil {
		err = p.measure(ctx, predictions, t.report)
	}
	if err != nil && predictions != nil {
		err = errors.Join(err, predictions.Close())
	}
	if err != nil {
		return nil, nil, err
	}
	t.report.Seconds = time.Since(began).Seconds()
	opt.stage("predict")
	return predictions, t, nil
}

// watchBase trains the base classifier for what observe sees of it, and predicts nothing.
func watchBase(ctx context.Context, p baseProblem, opt PredictOptions) error {
	t, err := p.train(ctx, opt)
	if err != nil {
		return err
	}
	return t.inputs.Close()
}

// A trainedBase is a base classifier before it predicts.
type trainedBase struct {
	fit    *crossFit
	inputs *rowstore.Store // of every node; whoever has trained closes it
	opt    PredictOptions  // with defaults
	budget int64           // what is left of the memory for inputs and predictions
	report *PredictReport  // without accuracies
}

// train trains the base classifier.
func (p *baseProblem) train(ctx context.Context, opt PredictOptions) (*trainedBase, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	if p.count(p.teaches) == 0 {
		return nil, fmt.Errorf(
			"no labelled node in the training split or in none, want some to learn from: %w", ErrNoLabels)
	}
	least, err := p.leastForTraining(ctx, opt.measuring())
	if err != nil {
		return nil, err
	}
	if err := requireBudget("predict", opt.MemoryBudget, least, p.classes, p.classBytes()); err != nil {
		return nil, err
	}
	candidates, err := p.candidates(ctx, opt)
	if err != nil {
		return nil, err
	}
	opt.stage("count")
	if p.observe != nil || p.count(p.stops) == 0 {
		candidates = candidates[len(candidates)-1:]
	}
	var best *trainedBase
	for _, input := range candidates {
		t, err := p.trainOn(ctx, input, opt)
		if err == nil && (best == nil || t.fit.loss < best.fit.loss) {
			best, t = t, best
		}
		if err == nil && t != nil { // the worse one
			err = t.inputs.Close()
		}
		if err != nil {
			if best != nil {
				err = errors.Join(err, best.inputs.Close())
			}
			return nil, err
		}
	}
	return best, nil
}

// trainOn trains the base classifier on an input.
func (p *baseProblem) trainOn(ctx context.Context, input baseInput, opt PredictOptions) (*trainedBase, error) {
	t := &trainedBase{
		opt: opt, budget: opt.MemoryBudget - p.heldInTraining(), report: &PredictReport{Inputs: input.name},
	}
	err := limitSeries(p.graph, t.budget)
	if err != nil {
		return nil, err
	}
	if t.inputs, err = input.make(ctx, opt, t.budget); err != nil {
		return nil, err
	}
	opt.stage("smooth")
	if t.fit, err = p.fitBase(ctx, t.inputs, opt, t.report); err != nil {
		return nil, errors.Join(err, t.inputs.Close())
	}
	opt.clock.end(ops.Stage{Name: "train", Columns: t.inputs.Width()})
	return t, nil
}

// count is how many nodes have a role.
func (p *baseProblem) count(has role) (count int) {
	for v := range p.labels {
		if has(kv.NodeID(v)) {
			count++
		}
	}
	return count
}
