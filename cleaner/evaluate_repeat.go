package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A drawing is a graph with noise and split drawn.
type drawing struct {
	base      baseProblem // of the noisy labels
	truth     []kv.Class
	nodes     []kv.NodeID // that are measured, in file order
	testNodes []kv.NodeID // of them, those of the test split
	rate      float64     // share of wrong labels among the labelled nodes
	seed      uint64
}

// draw draws noise and split of draw r.
func (e *evaluator) draw(ctx context.Context, r int) (*drawing, error) {
	d := &drawing{base: e.base, truth: e.base.labels, seed: e.opt.Seed + uint64(r)}
	var err error
	if d.base.splits, err = e.splits(d.seed); err != nil {
		return nil, err
	}
	if d.base.labels = e.opt.NoisyLabels; d.base.labels == nil {
		opt := e.opt.Options
		opt.MemoryBudget, opt.Seed = opt.MemoryBudget-e.footprint(), d.seed
		operators := opt.ops(0)
		operators.OnStage = nil
		if d.base.labels, err = e.noise.Inject(ctx, e.trueGraph(opt), d.seed, operators); err != nil {
			return nil, err
		}
		e.opt.stage("noise")
	}
	var wrong float64
	for v, err := range e.base.order {
		if err != nil {
			return nil, err
		}
		if d.truth[v] == kv.NoClass || d.base.labels[v] == kv.NoClass {
			continue
		}
		if d.nodes = append(d.nodes, v); d.base.labels[v] != d.truth[v] {
			wrong++
		}
		if d.base.splits[v] == SplitTest {
			d.testNodes = append(d.testNodes, v)
		}
	}
	d.rate = share(wrong, float64(len(d.nodes)))
	if len(d.testNodes) == 0 {
		return nil, fmt.Errorf("no labelled node in the test split, want some to measure on: %w", ErrNoLabels)
	}
	return d, nil
}

// measure draws noise and split, trains a classifier, or reads its predictions, and measures every method on it once.
func (e *evaluator) measure(ctx context.Context, repeat int) (metrics []MethodMetrics, err error) {
	d, err := e.draw(ctx, repeat)
	if err != nil {
		return nil, err
	}
	predictions, err := e.predictions(ctx, d, repeat)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, predictions.Close()) }()
	t := trial{base: d.base, foreign: len(e.opt.Predictions) > 0, problem: problem{
		graph: d.base.graph, place: d.base.place, order: d.base.order, labels: d.base.labels, classes: d.base.classes,
		names: e.tx.Classes(), splits: d.base.splits, predictions: predictions, sizes: d.base.sizes,
		crossFitted: len(e.opt.Predictions) == 0 && d.base.crossFits(),
	}}
	if e.storeSplits != nil {
		t.storeSplits = d.base.splits
	}
	if e.diagonals != nil {
		t.diagonals = e.diagonals.Diagonals
	}
	t.testNodes = countLabelled(t.labels)
	opt := e.opt.Options
	opt.Seed = d.seed
	opt.MemoryBudget -= e.footprint()
	opt.OnStage = nil // of the parts of a method
	for _, name := range e.opt.Methods {
		judgement, err := findMethod(name).run(ctx, t, opt)
		if err != nil {
			return nil, fmt.Errorf("method %s: %w", name, err)
		}
		e.opt.stage(name)
		metrics = append(metrics, judgement.measure(d))
		if e.opt.OnMeasurement == nil {
			continue
		}
		err = e.opt.OnMeasurement(Measurement{
			Repeat: repeat, Method: name, Nodes: d.testNodes, Truth: d.truth, Labels: t.labels,
			Scores: judgement.scores, Flagged: judgement.flagged, MislabelRate: judgement.rate,
		})
		if err != nil {
			return nil, err
		}
	}
	if metrics[0].Mislabelled == 0 {
		e.opt.notice("repeat %d: no test node is mislabelled: what is a share of them is left out of the means", repeat+1)
	}
	return metrics, nil
}

// predictions are those of a repeat.
func (e *evaluator) predictions(ctx context.Context, d *drawing, repeat int) (*rowstore.Store, error) {
	if len(e.opt.Predictions) > 0 {
		return readPredictions(ctx, e.tx, e.base.place.temporary(), e.opt.Predictions[repeat], d.base.labels)
	}
	predictions, _, err := trainBase(ctx, d.base, PredictOptions{
		Seed: d.seed, Workers: e.opt.Workers, MemoryBudget: e.opt.MemoryBudget - e.footprint(),
		Progress: e.opt.Progress,
	})
	if err != nil {
		return nil, err
	}
	e.opt.stage("base")
	return predictions, nil
}

// measure takes the metrics of the nodes that are measured.
func (j *judgement) measure(d *drawing) (m MethodMetrics) {
	m.BySplit = MetricsBySplit{
		Train:      j.measureNodes(d, func(s Split) bool { return s == SplitTrain }),
		Validation: j.measureNodes(d, func(s Split) bool { return s == SplitValidation }),
		Test:       j.measureNodes(d, func(s Split) bool { return s == SplitTest }),
		All:        j.measureNodes(d, func(Split) bool { return true }),
	}
	m.Metrics = m.BySplit.Test
	return m
}

// measureNodes takes the Metrics of the measured nodes of some splits.
func (j *judgement) measureNodes(d *drawing, within func(Split) bool) Metrics {
	var some []float64
	var flags, wrong []bool
	for _, u := range d.nodes {
		if within(d.base.splits[u]) {
			some, flags, wrong = append(some, j.scores[u]), append(flags, j.flagged[u]), append(wrong, d.truth[u] != d.base.labels[u])
		}
	}
	m := measureScores(some, flags, wrong)
	if !math.IsNaN(j.rate) {
		m.EstimatedRate = j.rate
	}
	m.TrueRate = d.rate
	return m
}
