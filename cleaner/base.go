package cleaner

import (
	"context"
	"errors"
	"fmt"
	"time"

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

	sizes     *ops.Sizes // of graph; nil until measured
	disagrees *bool      // neighbours, so that both inputs are tried; nil until counted

	keptLabelHops int // over how many hops a kept classifier has gathered training labels; 0: there is none
}

// A role is what the label of a node does to the base classifier.
type role func(v kv.NodeID) bool

// teaches reports whether the classifier learns the label of a node.
func (p *baseProblem) teaches(v kv.NodeID) bool {
	if p.drawn { // no node's label is seen where it is predicted
		return p.labels[v] != kv.NoClass && p.splits[v] != SplitUnused
	}
	return teaches(p.labels, p.splits, v)
}

// hasFeatures reports whether the inputs are the features.
func (p *baseProblem) hasFeatures() bool { return p.features != nil && p.features.Width() > 0 }

const (
	baseHops     = 2
	mostBaseHops = 10
	baseBatch    = 256 // rows

	// Of the training nodes no more are learned from, drawn uniformly: their inputs would not fit into memory.
	baseTraining = 1 << 19
)

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
	predictions, err = p.predictAll(ctx, t.fit, t.inputs, opt)
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

// A trainedBase is a base classifier before it predicts.
type trainedBase struct {
	fit    *baseFit
	inputs *rowstore.Store // of every node; whoever has trained closes it
	opt    PredictOptions  // with defaults
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
	if err := p.requireForTraining(ctx, opt); err != nil {
		return nil, err
	}
	candidates, err := p.candidates(ctx, opt)
	if err != nil {
		return nil, err
	}
	opt.stage("count")
	var best *trainedBase
	for _, input := range candidates {
		t, err := p.trainOn(ctx, input, opt)
		if err == nil && (best == nil || t.fit.Loss < best.fit.Loss) {
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
	t := &trainedBase{opt: opt, report: &PredictReport{Inputs: input.name}}
	budget := opt.MemoryBudget - p.heldInTraining()
	err := limitSeries(p.graph, budget)
	if err != nil {
		return nil, err
	}
	if t.inputs, err = input.make(ctx, opt, budget); err != nil {
		return nil, err
	}
	opt.stage("smooth")
	if t.fit, err = p.fitBase(ctx, t.inputs, opt); err != nil {
		return nil, errors.Join(err, t.inputs.Close())
	}
	opt.clock.End(ops.Stage{Name: "train", Columns: t.inputs.Width()})
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
