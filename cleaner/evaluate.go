package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// EvalOptions says what Evaluate measures. Preset of the embedded Options is not looked at: the methods have theirs.
type EvalOptions struct {
	Options

	// Noise is sym:RATE or asym:RATE. NoisyLabels [n] by NodeID, where not nil, are used in its place; NoClass in them
	// leaves a node unlabelled.
	Noise       string
	NoisyLabels []kv.Class

	// Repeats is how many times noise and split are drawn and the base classifier is trained; zero means 1. Repeat r
	// has seed Seed+r.
	Repeats int

	// Splits [n] by NodeID, where not nil, are used in every repeat. Else Split, where not zero, gives the shares of
	// training, validation and test nodes to draw in every repeat. Without both it is the store's splits, and where it
	// has none 0.8, 0.1, 0.1.
	Splits []Split
	Split  [3]float64

	// Methods are some of MethodNames; empty means "default".
	Methods []string
}

// A MethodResult is what one method reached.
type MethodResult struct {
	Name    string    `json:"name"`
	Mean    Metrics   `json:"mean"`
	Std     Metrics   `json:"std"` // of the sample; 0 for one repeat
	Repeats []Metrics `json:"repeats"`
}

// An Evaluation is what the methods reached, in the order asked.
type Evaluation struct {
	Methods []MethodResult `json:"methods"`
}

// Evaluate takes the labels of the store for true, injects noise into those of all splits, trains the built-in base
// classifier on the noisy labels of the training split, runs the methods on the same noisy labels and predictions, and
// measures them on the labelled nodes of the test split. Predictions in the store are not used: they have seen the
// labels.
//
// The store is only read. It fails with ErrNoLabels, ErrOneClass or ErrFewFittingNodes where the labels do not suffice,
// and with ErrOptions, or ErrShape, ErrUnknownClass and ErrSplit where what is given does not fit the store.
func Evaluate(ctx context.Context, s *kv.Store, opt EvalOptions) (result *Evaluation, err error) {
	e, err := newEvaluator(ctx, s, opt)
	if err != nil {
		return nil, err
	}
	defer e.tx.Close()
	defer func() { err = errors.Join(err, e.diagonals.Close()) }()
	result = &Evaluation{}
	for _, name := range e.opt.Methods {
		result.Methods = append(result.Methods, MethodResult{Name: name})
	}
	for r := range e.opt.Repeats {
		e.opt.progress("repeat", int64(r), int64(e.opt.Repeats))
		measured, err := e.repeat(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("repeat %d of %d: %w", r+1, e.opt.Repeats, err)
		}
		for i, m := range measured {
			result.Methods[i].Repeats = append(result.Methods[i].Repeats, m)
		}
	}
	e.opt.progress("repeat", int64(e.opt.Repeats), int64(e.opt.Repeats))
	for i := range result.Methods {
		result.Methods[i].summarize()
	}
	return result, nil
}

// summarize fills Mean and Std from Repeats.
func (r *MethodResult) summarize() {
	mean, std := r.Mean.fields(), r.Std.fields()
	n := float64(len(r.Repeats))
	for f := range mean {
		for i := range r.Repeats {
			*mean[f] += *r.Repeats[i].fields()[f] / n
		}
		for i := range r.Repeats {
			deviation := *r.Repeats[i].fields()[f] - *mean[f]
			*std[f] += deviation * deviation / max(n-1, 1)
		}
		*std[f] = math.Sqrt(*std[f])
	}
}

// An evaluator holds what the repeats share.
type evaluator struct {
	tx     *kv.Tx
	opt    EvalOptions
	base   baseProblem // of the true labels
	stored []Split     // nil: drawn in every repeat
	noise  labelNoise

	diagonals *heldDiagonals // of Options.Hops
}

// newEvaluator checks the options and reads the store. The caller closes e.tx.
func newEvaluator(ctx context.Context, s *kv.Store, opt EvalOptions) (e *evaluator, err error) {
	if opt.Options, err = opt.Options.withDefaults(); err != nil {
		return nil, err
	}
	if opt.Repeats < 0 {
		return nil, fmt.Errorf("%d repeats: want 1 or more: %w", opt.Repeats, ErrOptions)
	}
	opt.Repeats = max(opt.Repeats, 1)
	var shares float64
	for _, share := range opt.Split {
		shares += share
		if !(share >= 0 && share <= 1) || shares > 1+1e-9 {
			return nil, fmt.Errorf("split %v: want shares from 0 to 1 that add up to 1 at most: %w", opt.Split, ErrOptions)
		}
	}
	if len(opt.Methods) == 0 {
		opt.Methods = []string{"default"}
	}
	for _, name := range opt.Methods {
		if methodNamed(name) == nil {
			return nil, fmt.Errorf("method %q: want one of %s: %w", name, strings.Join(MethodNames(), ", "), ErrOptions)
		}
	}
	e = &evaluator{opt: opt}
	e.base.place = &workplace{scratch: s.Scratch()}
	if opt.NoisyLabels == nil {
		if e.noise, err = parseLabelNoise(opt.Noise); err != nil {
			return nil, err
		}
	}
	e.tx = s.Begin()
	if err := e.read(ctx); err != nil {
		e.tx.Close()
		return nil, err
	}
	return e, nil
}

func (e *evaluator) read(ctx context.Context) error {
	if err := checkLabels(e.tx); err != nil {
		return err
	}
	var err error
	if e.base.graph, err = e.opt.graphFor(e.tx); err != nil {
		return err
	}
	e.base.classes = len(e.tx.Classes())
	if e.base.labels, err = readLabels(e.tx); err != nil {
		return err
	}
	e.base.order = e.tx.InFileOrder()
	var notice string
	if e.base.features, notice, err = baseFeatures(ctx, e.tx); err != nil {
		return err
	}
	if notice != "" {
		e.opt.notice("%s", notice)
	}
	if err := e.checkGiven(); err != nil {
		return err
	}
	if e.stored, err = e.givenSplits(); err != nil {
		return err
	}
	if err := e.checkBudget(ctx); err != nil {
		return err
	}
	held := (labelBytes + problemBytes) * int64(len(e.base.labels))
	e.diagonals, err = e.base.place.diagonals(ctx, e.base.graph, diagonalJob{hops: e.opt.Hops}, e.opt.ops(held))
	return err
}

// checkBudget fails where the budget is too small for a repeat.
func (e *evaluator) checkBudget(ctx context.Context) error {
	sizes, err := e.base.measured(ctx)
	if err != nil {
		return err
	}
	base := e.base
	if base.splits = e.stored; base.splits == nil {
		if base.splits, err = drawSplits(base.order, base.labels, e.opt.Split, e.opt.Seed); err != nil {
			return err
		}
	}
	if e.opt.NoisyLabels != nil {
		base.labels = e.opt.NoisyLabels
	}
	training, err := base.leastForTraining(ctx)
	if err != nil {
		return err
	}
	n := len(base.labels)
	scoring := leastForScore(sizes, n, fittingIn(base.labels, base.splits), e.opt.Hops)
	return requireBudget("eval", e.opt.MemoryBudget, e.held()+max(scoring, training))
}

// held is what a repeat holds beside its problem.
func (e *evaluator) held() int64 { return (repeatBytes + testedBytes) * int64(len(e.base.labels)) }

// checkGiven looks at the vectors of the options, which the store's sizes bound.
func (e *evaluator) checkGiven() error {
	n := len(e.base.labels)
	if given := e.opt.NoisyLabels; given != nil && len(given) != n {
		return fmt.Errorf("noisy labels: got %d, want one for each of the %d nodes: %w", len(given), n, ErrShape)
	}
	if given := e.opt.Splits; given != nil && len(given) != n {
		return fmt.Errorf("splits: got %d, want one for each of the %d nodes: %w", len(given), n, ErrShape)
	}
	for v, y := range e.opt.NoisyLabels {
		if y < kv.NoClass || int(y) >= e.base.classes {
			err := fmt.Errorf("noisy label is class number %d, want one below %d or none: %w",
				y, e.base.classes, ErrUnknownClass)
			return nodeError(e.tx, kv.NodeID(v), err)
		}
	}
	for v, split := range e.opt.Splits {
		if split > SplitTest {
			return nodeError(e.tx, kv.NodeID(v), fmt.Errorf("split number %d, want one up to %d: %w", split, SplitTest, ErrSplit))
		}
	}
	return nil
}

// givenSplits returns the splits that every repeat uses, nil where each draws its own.
func (e *evaluator) givenSplits() ([]Split, error) {
	if e.opt.Splits != nil {
		return e.opt.Splits, nil
	}
	if e.opt.Split != [3]float64{} {
		return nil, nil
	}
	splits, drawn, err := Splits(e.tx, e.base.labels, e.opt.Seed)
	if err != nil || drawn {
		e.opt.Split = defaultShares
		return nil, err
	}
	return splits, nil
}

// repeat measures every method once.
func (e *evaluator) repeat(ctx context.Context, r int) (measured []Metrics, err error) {
	seed := e.opt.Seed + uint64(r)
	base := e.base
	base.splits = e.stored
	if base.splits == nil {
		if base.splits, err = drawSplits(base.order, base.labels, e.opt.Split, seed); err != nil {
			return nil, err
		}
	}
	truth := base.labels
	base.labels = e.opt.NoisyLabels
	if base.labels == nil {
		if base.labels, err = e.noise.inject(truth, base.order, base.classes, seed); err != nil {
			return nil, err
		}
	}
	var tested []kv.NodeID
	for v, err := range base.order {
		if err != nil {
			return nil, err
		}
		if base.splits[v] == SplitTest && truth[v] != kv.NoClass && base.labels[v] != kv.NoClass {
			tested = append(tested, v)
		}
	}
	if len(tested) == 0 {
		return nil, fmt.Errorf("no labelled node in the test split, want some to measure on: %w", ErrNoLabels)
	}

	predictions, _, err := trainBase(ctx, base, PredictOptions{
		Seed: seed, Workers: e.opt.Workers, MemoryBudget: e.opt.MemoryBudget - e.held(), Progress: e.opt.Progress,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, predictions.Close()) }()
	p := problem{
		graph: base.graph, place: base.place, diagonals: e.diagonals.Diagonals, order: base.order, labels: base.labels, classes: base.classes,
		splits: base.splits, predictions: predictions, sizes: base.sizes,
	}
	opt := e.opt.Options
	opt.Seed = seed
	opt.MemoryBudget -= e.held()
	for _, name := range e.opt.Methods {
		scores, flagged, err := methodNamed(name).run(ctx, p, opt)
		if err != nil {
			return nil, fmt.Errorf("method %s: %w", name, err)
		}
		measured = append(measured, measureNodes(tested, truth, base.labels, scores, flagged))
	}
	return measured, nil
}

// measureNodes takes the Metrics of some nodes.
func measureNodes(nodes []kv.NodeID, truth, given []kv.Class, scores []float64, flagged []bool) Metrics {
	some, flags, wrong := make([]float64, len(nodes)), make([]bool, len(nodes)), make([]bool, len(nodes))
	for i, v := range nodes {
		some[i], flags[i], wrong[i] = scores[v], flagged[v], truth[v] != given[v]
	}
	return measureScores(some, flags, wrong)
}
