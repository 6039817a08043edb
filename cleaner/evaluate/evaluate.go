// Package evaluate measures how well methods find wrong labels. It takes the labels of a store for true and makes some
// of them wrong, or takes noisy labels of the caller's. It knows cleanings by their single steps, and no terminal.
package evaluate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/evaluate/internal/labelnoise"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// Options says what Run measures. Method of the embedded Options is ignored: Methods have it.
type Options struct {
	cleaner.Options

	// Set one of two. Noise is KIND:RATE, with one of NoiseKinds. NoisyLabels [n] by NodeID are the labels themselves;
	// NoClass is an unlabelled node.
	Noise       string
	NoisyLabels []kv.Class

	// Repeats is how many times noise and split are drawn, and the base classifier is trained; zero means 1. Repeat r
	// has seed Seed+r.
	Repeats int

	// Predictions replace the predictions of the base classifier: one set for each repeat, whose number they set. Their
	// model was trained on the noisy labels, so NoisyLabels and a split must be set too.
	Predictions []cleaner.PredictionSet

	// Splits [n] by NodeID, if not nil, are used in every repeat. Otherwise every repeat draws a split: Split has the
	// shares of training, validation and test nodes. The labels of the remaining nodes are not used for training. If
	// both are zero, Run uses the splits of the store, or draws 0.8, 0.1, 0.1.
	Splits []cleaner.Split
	Split  [3]float64

	// Methods are some of MethodNames, each measured once, however often it is named; empty means "default".
	Methods []string

	// OnMeasurement, if not nil, gets the Measurement of each method of each repeat.
	OnMeasurement func(Measurement) error
}

// NoiseKinds are the kinds of Options.Noise. Of each, a share of the labelled nodes, rounded to whole nodes, gets a
// wrong label:
//
//   - sym: any other class with equal chance;
//   - asym: class i becomes class i+1, the last the first;
//   - feature: a class that the features look like (Kim and others, BeGIN, arXiv:2506.12468);
//   - topology: a class that the nodes around it have (BeGIN);
//   - confidence: a class that a classifier takes it for (BeGIN), here the built-in base classifier, trained on the
//     true labels, that has not seen that of the node;
//   - cluster: the features of a class form clusters. In some clusters many labels become one other class, in the
//     others none. This models a few careless annotators, each of one region (Thapaliya and others, CANE,
//     arXiv:2605.27913);
//   - instance: by a chance of the node's own, and a class that depends on its features (Xia and others,
//     part-dependent label noise, arXiv:2006.07836).
//
// feature, cluster and instance want features.
func NoiseKinds() []string { return labelnoise.Kinds() }

// A Measurement is what a method says of the nodes in one repeat. Truth has the labels of the store, Labels the noisy
// ones. Scores and Flagged are of all labelled nodes, whether they are under test or not. The higher the score, the
// more suspect.
type Measurement struct {
	Repeat        int // from 0
	Method        string
	Nodes         []kv.NodeID // under test, in file order
	Truth, Labels []kv.Class  // [n] by NodeID
	Scores        []float64   // [n] by NodeID
	Flagged       []bool      // [n] by NodeID
	MislabelRate  float64     // of all labelled nodes, as the method estimates it; NaN if it does not
}

// A MethodResult has the metrics of one method.
type MethodResult struct {
	Name string        `json:"name"`
	Mean MethodMetrics `json:"mean"`
	Std  MethodMetrics `json:"std"` // of the sample; 0 for one repeat or none

	Repeats []MethodMetrics `json:"repeats"`
}

// A Result has the results of the methods, in the order in which they were first asked for.
type Result struct {
	Methods []MethodResult `json:"methods"`
}

// Run makes labels wrong in all splits, trains the built-in base classifier on the noisy labels, runs the methods on
// the same noisy labels and predictions, and measures them on the labelled nodes of the test split, of each other
// split, and of all (see MethodNames). Predictions in the store are not used: they have seen the labels.
//
// The store is only read. OnStage is told the seconds of reading it, as "read", of every draw of noise, as "noise", of
// every training, as "base", and of every method, by its name. If there are too few labels, it returns
// cleaner.ErrNoLabels, ErrOneClass, ErrFewLabels or ErrFewFittingNodes. If an option does not fit the store, it returns
// ErrOptions, ErrShape, ErrUnknownClass or ErrSplit, and an *ops.BudgetError where a step needs more memory.
//
// The last digits of scores of the method "dyb", which uses the gamma function, may differ between processors; and,
// very rarely, the noisy labels of the kinds feature, topology, confidence and instance, which draw exponential or
// normal numbers of package rand.
func Run(ctx context.Context, s *kv.Store, opt Options) (result *Result, err error) {
	e := &evaluator{opt: opt}
	if err := e.check(); err != nil {
		return nil, err
	}
	tx := s.Begin()
	defer tx.Close()
	if e.lab, err = cleaner.NewLab(ctx, tx, e.opt.Options); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.lab.Close()) }()
	if err := e.read(); err != nil {
		return nil, err
	}
	e.lab.Stage("read")
	result = &Result{Methods: make([]MethodResult, len(e.methods))}
	for r := range e.opt.Repeats {
		e.progress(r)
		metrics, err := e.measure(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("repeat %d of %d: %w", r+1, e.opt.Repeats, err)
		}
		for i, m := range metrics {
			result.Methods[i].Name = e.methods[i].name
			result.Methods[i].Repeats = append(result.Methods[i].Repeats, m)
		}
	}
	e.progress(e.opt.Repeats)
	for i := range result.Methods {
		m := &result.Methods[i]
		m.Mean, m.Std = summarize(m.Repeats)
	}
	return result, nil
}

// An evaluator holds the data that the repeats share.
type evaluator struct {
	opt     Options
	methods []method
	lab     *cleaner.Lab
	noise   labelnoise.Noise
	splits  []cleaner.Split // nil: drawn in every repeat
}

func (e *evaluator) progress(repeat int) {
	if e.opt.Progress != nil {
		e.opt.Progress("repeat", int64(repeat), int64(e.opt.Repeats))
	}
}

// check completes the options, or says what is wrong with them.
func (e *evaluator) check() (err error) {
	o := &e.opt
	if o.Repeats < 0 {
		return fmt.Errorf("%d repeats: want 1 or more: %w", o.Repeats, cleaner.ErrOptions)
	}
	o.Repeats = max(o.Repeats, 1)
	var shares float64
	for _, share := range o.Split {
		shares += share
		if !(share >= 0 && share <= 1) || shares > 1+1e-9 {
			return fmt.Errorf("split %v: want shares from 0 to 1 that add up to 1 at most: %w", o.Split, cleaner.ErrOptions)
		}
	}
	if len(o.Predictions) > 0 {
		if o.NoisyLabels == nil {
			return fmt.Errorf("predictions without the noisy labels that they were made from: %w", cleaner.ErrOptions)
		}
		o.Repeats = len(o.Predictions)
	}
	if o.NoisyLabels == nil {
		if e.noise, err = labelnoise.Parse(o.Noise); err != nil {
			return err
		}
	}
	if len(o.Methods) == 0 {
		o.Methods = []string{"default"}
	}
	for _, name := range o.Methods {
		i := slices.Index(MethodNames(), name)
		if i < 0 {
			return fmt.Errorf("method %q: want one of %s: %w", name, strings.Join(MethodNames(), ", "), cleaner.ErrOptions)
		}
		if !slices.ContainsFunc(e.methods, func(m method) bool { return m.name == name }) {
			e.methods = append(e.methods, methods[i])
		}
	}
	return nil
}

// denseMatrices is the number of matrices of classes in confident learning.
const denseMatrices = 3

// read finds the splits, and compares the vectors of the options with the store.
func (e *evaluator) read() (err error) {
	n, c := len(e.lab.Labels), int64(e.lab.Classes)
	if least, budget := 8*denseMatrices*c*c, e.lab.Operators().MemoryBudget; least > budget {
		return &ops.BudgetError{Job: "eval", Budget: budget, Least: least}
	}
	if labels := e.opt.NoisyLabels; labels != nil && len(labels) != n {
		return fmt.Errorf("noisy labels: got %d, want one for each of the %d nodes: %w", len(labels), n, cleaner.ErrShape)
	}
	for _, y := range e.opt.NoisyLabels {
		if y < kv.NoClass || int64(y) >= c {
			return fmt.Errorf("noisy label is class number %d, want one below %d or none: %w", y, c, cleaner.ErrUnknownClass)
		}
	}
	if e.splits = e.opt.Splits; e.splits != nil && len(e.splits) != n {
		return fmt.Errorf("splits: got %d, want one for each of the %d nodes: %w", len(e.splits), n, cleaner.ErrShape)
	}
	for _, split := range e.splits {
		if split > cleaner.SplitTest {
			return fmt.Errorf("split number %d, want one up to %d: %w", split, cleaner.SplitTest, cleaner.ErrSplit)
		}
	}
	if e.splits == nil && e.opt.Split == [3]float64{} {
		if e.splits, err = e.lab.Splits(); err != nil {
			return err
		}
	}
	if e.splits == nil && len(e.opt.Predictions) > 0 {
		return fmt.Errorf("predictions without the split that they were made with: %w", cleaner.ErrOptions)
	}
	return nil
}

// inject makes labels wrong. Noise that goes by a classifier has the built-in one, which learns from a split of its
// own.
func (e *evaluator) inject(ctx context.Context, seed uint64) ([]kv.Class, error) {
	lab := e.lab
	graph := labelnoise.Graph{
		Adjacency: lab.Graph, Features: lab.Features, Labels: lab.Labels, Classes: lab.Classes, Order: lab.Order,
		Scratch: lab.Scratch,
		Predict: func(ctx context.Context, trainingSeed uint64) (*rowstore.Store, error) {
			splits, err := lab.DrawSplits([3]float64{}, seed)
			if err != nil {
				return nil, err
			}
			return lab.Train(ctx, cleaner.Trial{Labels: lab.Labels, Splits: splits, Seed: trainingSeed})
		},
	}
	return e.noise.Inject(ctx, &graph, seed, lab.Operators())
}

// draw draws noise and split of repeat r, and trains a classifier or reads its predictions. The caller closes these.
func (e *evaluator) draw(ctx context.Context, r int) (t *trial, err error) {
	t = &trial{lab: e.lab, Trial: cleaner.Trial{
		Labels: e.opt.NoisyLabels, Splits: e.splits, Given: e.splits != nil, Foreign: len(e.opt.Predictions) > 0,
		Seed: e.opt.Seed + uint64(r),
	}}
	if t.Splits == nil {
		if t.Splits, err = e.lab.DrawSplits(e.opt.Split, t.Seed); err != nil {
			return nil, err
		}
	}
	if t.Labels == nil {
		if t.Labels, err = e.inject(ctx, t.Seed); err != nil {
			return nil, err
		}
		e.lab.Stage("noise")
	}
	if err := t.chooseNodes(); err != nil {
		return nil, err
	}
	if t.Foreign {
		t.Predictions, err = e.lab.ReadPredictions(ctx, e.opt.Predictions[r])
		return t, err
	}
	t.Predictions, err = e.lab.Train(ctx, t.Trial)
	e.lab.Stage("base")
	return t, err
}

// measure measures every method once.
func (e *evaluator) measure(ctx context.Context, repeat int) (metrics []MethodMetrics, err error) {
	t, err := e.draw(ctx, repeat)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Predictions.Close()) }()
	for _, method := range e.methods {
		m := &Measurement{
			Repeat: repeat, Method: method.name, Truth: e.lab.Labels, Labels: t.Labels, MislabelRate: math.NaN(),
			Scores: make([]float64, len(t.Labels)), Flagged: make([]bool, len(t.Labels)),
		}
		if err := method.run(ctx, t, m); err != nil {
			return nil, fmt.Errorf("method %s: %w", method.name, err)
		}
		e.lab.Stage(method.name)
		metrics = append(metrics, t.metrics(m))
		if e.opt.OnMeasurement != nil {
			for _, v := range t.nodes {
				if t.Splits[v] == cleaner.SplitTest {
					m.Nodes = append(m.Nodes, v)
				}
			}
			if err := e.opt.OnMeasurement(*m); err != nil {
				return nil, err
			}
		}
	}
	if metrics[0].Mislabelled == 0 && e.opt.Notice != nil {
		e.opt.Notice(fmt.Sprintf("repeat %d: no test node is mislabelled: what is a share of them is left out of the means",
			repeat+1))
	}
	return metrics, nil
}
