package cleaner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelnoise"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/naming"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/kv"
)

// EvalOptions says what Evaluate measures. Method of the embedded Options is ignored: each method has its own.
type EvalOptions struct {
	Options

	// Set one of two. Noise is KIND:RATE, with one of NoiseKinds. NoisyLabels [n] by NodeID are the labels themselves;
	// NoClass is an unlabelled node.
	Noise       string
	NoisyLabels []kv.Class

	// Repeats is how many times noise and split are drawn, and the base classifier is trained; zero means 1. Repeat r
	// has seed Seed+r.
	Repeats int

	// Predictions replace the predictions of the base classifier: one set for each repeat, whose number they set. Their
	// model was trained on the noisy labels, so NoisyLabels and a split must be set too.
	Predictions []PredictionSet

	// Splits [n] by NodeID, if not nil, are used in every repeat. Otherwise every repeat draws a split: Split has the
	// shares of training, validation and test nodes. The labels of the remaining nodes are not used for training. If
	// both are zero, Evaluate uses the splits of the store, or draws 0.8, 0.1, 0.1.
	Splits []Split
	Split  [3]float64

	// Methods are some of MethodNames, each measured once, however often it is named; empty means "default".
	Methods []string

	// OnMeasurement, if not nil, gets the Measurement of the nodes under test, after each method of each repeat.
	OnMeasurement func(Measurement) error
}

// NoiseKinds are the kinds of EvalOptions.Noise. Of each, a share of the labelled nodes, rounded to whole nodes, gets a
// wrong label:
//
//   - sym: any other class with equal chance;
//   - asym: class i becomes class i+1, the last the first;
//   - feature: a class that the features look like (Kim and others, BeGIN, arXiv:2506.12468);
//   - topology: a class that the nodes around it have (BeGIN);
//   - confidence: a class that a classifier takes it for (BeGIN), here the built-in base classifier, trained on the true
//     labels, that has not seen that of the node;
//   - cluster: the features of a class form clusters. In some clusters many labels become one other class, in the others
//     none. This models a few careless annotators, each of one region (Thapaliya and others, CANE, arXiv:2605.27913);
//   - instance: by a chance of the node's own, and a class that depends on its features (Xia and others, part-dependent label
//     noise, arXiv:2006.07836).
//
// feature, cluster and instance want features.
func NoiseKinds() []string { return labelnoise.Kinds() }

// A PredictionSet reads the predictions of one model from outside. It begins a writer for the classes that it has, and
// puts every row. It may call Finish, and does not call Mark.
type PredictionSet func(
	ctx context.Context, tx *kv.Tx, begin func(classes []string, opt PredictionOptions) (*PredictionWriter, error),
) error

// A Measurement is the judgement of one method on the nodes under test, in one repeat.
type Measurement struct {
	Repeat        int // from 0
	Method        string
	Nodes         []kv.NodeID // under test, in file order
	Truth, Labels []kv.Class  // [n] by NodeID: labels of the store, and noisy ones
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

// An Evaluation has the results of the methods, in the order in which they were first asked for.
type Evaluation struct {
	Methods []MethodResult `json:"methods"`
}

// Evaluate takes the labels of the store for true, injects noise into those of all splits, trains the built-in base
// classifier on the noisy labels, runs the methods on the same noisy labels and predictions, and measures them on the
// labelled nodes of the test split, of each other split, and of all (see MethodNames). Predictions in the store are not
// used: they have seen the labels.
//
// The store is only read. OnStage is told the seconds of reading it, as "read", of every draw of noise, as "noise", of
// every training, as "base", of every method, by its name, and of the means, as "count". If there are too few labels,
// it returns ErrNoLabels, ErrOneClass, ErrFewLabels or ErrFewFittingNodes. If an option does not fit the store, it
// returns ErrOptions, ErrShape, ErrUnknownClass or ErrSplit.
func Evaluate(ctx context.Context, s *kv.Store, opt EvalOptions) (result *Evaluation, err error) {
	e, err := newEvaluator(ctx, s, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	var repeats [][]MethodMetrics
	all := e.opt.Repeats
	for r := range all {
		e.opt.progress("repeat", int64(r), int64(all))
		one, err := e.measure(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("repeat %d of %d: %w", r+1, all, err)
		}
		repeats = append(repeats, one)
	}
	e.opt.progress("repeat", int64(all), int64(all))
	result = e.summarize(repeats)
	e.opt.stage("count")
	return result, nil
}

// summarize turns the metrics of repeats, each by method, into results.
func (e *evaluator) summarize(repeats [][]MethodMetrics) *Evaluation {
	result := &Evaluation{}
	for i, name := range e.opt.Methods {
		m := MethodResult{Name: name}
		for _, repeat := range repeats {
			m.Repeats = append(m.Repeats, repeat[i])
		}
		m.summarize()
		result.Methods = append(result.Methods, m)
	}
	return result
}

// An evaluator holds what the repeats share.
type evaluator struct {
	tx          *kv.Tx
	opt         EvalOptions
	base        baseProblem // of the true labels
	storeSplits []Split     // nil: drawn in every repeat
	noise       labelnoise.Noise

	hops      int            // that methods walk; 0: none does
	diagonals *heldDiagonals // of so many
}

// Close gives back what the evaluator holds.
func (e *evaluator) Close() error {
	e.tx.Close()
	return e.diagonals.Close()
}

// newEvaluator checks the options and reads the store. The caller closes it.
func newEvaluator(ctx context.Context, s *kv.Store, opt EvalOptions) (*evaluator, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &evaluator{opt: opt}
	e.base.place = &workplace{scratch: s.Scratch()}
	if opt.NoisyLabels == nil {
		if e.noise, err = labelnoise.Parse(opt.Noise); err != nil {
			return nil, err
		}
	}
	for _, name := range opt.Methods {
		if findMethod(name).walks {
			e.hops = opt.Hops
		}
	}
	e.tx = s.Begin()
	if err := e.read(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	opt.stage("read")
	return e, nil
}

// mostRepeats bounds Repeats.
const mostRepeats = 1 << 20

// withDefaults completes the options, or says what is wrong with them.
func (o EvalOptions) withDefaults() (EvalOptions, error) {
	var err error
	if o.Options, err = o.Options.withDefaults(); err != nil {
		return o, err
	}
	if o.Repeats < 0 || o.Repeats > mostRepeats {
		return o, fmt.Errorf("%d repeats: want 1 to %d: %w", o.Repeats, mostRepeats, ErrOptions)
	}
	o.Repeats = max(o.Repeats, 1)
	var shares float64
	for _, share := range o.Split {
		shares += share
		if !(share >= 0 && share <= 1) || shares > 1+1e-9 {
			return o, fmt.Errorf("split %v: want shares from 0 to 1 that add up to 1 at most: %w", o.Split, ErrOptions)
		}
	}
	if len(o.Predictions) > 0 {
		if o.NoisyLabels == nil {
			return o, fmt.Errorf("predictions without the noisy labels that they were made from: %w", ErrOptions)
		}
		o.Repeats = len(o.Predictions)
	}
	names := o.Methods
	if len(names) == 0 {
		names = []string{"default"}
	}
	o.Methods = nil
	for _, name := range names {
		if findMethod(name) == nil {
			return o, fmt.Errorf("method %q: want one of %s: %w", name, strings.Join(MethodNames(), ", "), ErrOptions)
		}
		if !slices.Contains(o.Methods, name) {
			o.Methods = append(o.Methods, name)
		}
	}
	return o, nil
}

// trains says whether the built-in base classifier is trained.
func (e *evaluator) trains() bool {
	train := func(name string) bool { return findMethod(name).trains }
	return len(e.opt.Predictions) == 0 || slices.ContainsFunc(e.opt.Methods, train)
}

func (e *evaluator) read(ctx context.Context) error {
	if err := checkLabels(e.tx); err != nil {
		return err
	}
	var err error
	e.base.graph = graphOf(e.tx)
	e.base.classes = len(e.tx.Classes())
	if e.base.labels, err = readLabels(e.tx); err != nil {
		return err
	}
	e.base.order = e.tx.InFileOrder()
	if e.trains() {
		var notice string
		if e.base.features, notice, err = baseFeatures(ctx, e.tx); err != nil {
			return err
		}
		if notice != "" {
			e.opt.notice("%s", notice)
		}
	}
	if err := e.noise.Check(e.trueGraph(e.opt.Options)); err != nil {
		return err
	}
	if err := e.checkVectors(); err != nil {
		return err
	}
	if e.storeSplits, err = e.givenSplits(); err != nil {
		return err
	}
	if e.storeSplits == nil && len(e.opt.Predictions) > 0 {
		return fmt.Errorf("predictions without the split that they were made with: %w", ErrOptions)
	}
	if err := e.checkMethods(); err != nil {
		return err
	}
	if err := e.checkBudget(ctx); err != nil {
		return err
	}
	if e.hops == 0 {
		return nil
	}
	footprint := (labelBytes + problemBytes) * int64(len(e.base.labels))
	e.diagonals, err = e.base.place.diagonals(ctx, e.base.graph, e.hops, e.opt.ops(footprint))
	return err
}

// trueGraph is what labels go wrong in. Noise that goes by a classifier has the built-in one, which learns from a split
// of its own.
func (e *evaluator) trueGraph(opt Options) *labelnoise.Graph {
	withSplit := func(seed uint64) (p baseProblem, err error) {
		p = e.base
		p.splits, err = drawSplits(p.order, p.labels, defaultShares, seed)
		return p, err
	}
	p := &e.base
	return &labelnoise.Graph{
		Adjacency: p.graph, Features: p.features, Labels: p.labels, Classes: p.classes, Order: p.order, Scratch: p.place.temporary(),
		Predict: func(ctx context.Context, seed uint64) (*rowstore.Store, error) {
			base, err := withSplit(opt.Seed)
			if err != nil {
				return nil, err
			}
			predictions, _, err := trainBase(ctx, base, PredictOptions{
				Seed: seed, Workers: opt.Workers, MemoryBudget: opt.MemoryBudget, Progress: opt.Progress,
			})
			return predictions, err
		},
		LeastToPredict: func(ctx context.Context) (int64, error) {
			base, err := withSplit(0)
			if err != nil {
				return 0, err
			}
			return base.leastForTraining(ctx, opt.ops(0))
		},
		LeastToPropagate: func(ctx context.Context) (int64, error) {
			sizes, err := p.graphSizes(ctx, opt.ops(0))
			if err != nil {
				return 0, err
			}
			return sizes.LeastForPropagate(), nil
		},
	}
}

// checkMethods fails if a method cannot do with the labels.
func (e *evaluator) checkMethods() error {
	labels := e.base.labels // noise that is drawn leaves as many
	if e.opt.NoisyLabels != nil {
		labels = e.opt.NoisyLabels
	}
	count := countLabelled(labels)
	for _, name := range e.opt.Methods {
		m := findMethod(name)
		if m.check == nil {
			continue
		}
		if err := m.check(count, e.base.classes); err != nil {
			return fmt.Errorf("method %s: %w", name, err)
		}
	}
	return nil
}

// checkBudget fails if the budget is too small for a repeat.
func (e *evaluator) checkBudget(ctx context.Context) error {
	sizes, err := e.base.graphSizes(ctx, e.opt.ops(0))
	if err != nil {
		return err
	}
	base := e.base
	if base.splits, err = e.splits(e.opt.Seed); err != nil {
		return err
	}
	if e.opt.NoisyLabels != nil {
		base.labels = e.opt.NoisyLabels
	}
	var least int64
	if e.trains() {
		if least, err = base.leastForTraining(ctx, e.opt.ops(0)); err != nil {
			return err
		}
	}
	forNoise, err := e.noise.Least(ctx, e.trueGraph(e.opt.Options))
	if err != nil {
		return err
	}
	least = max(least, forNoise)
	fitting := countLabelled(base.labels)
	if e.hops > 0 {
		n := len(base.labels)
		for _, m := range []method.Method{nil, paper.Published} {
			least = max(least, leastForScore(m, sizes, n, fitting, base.classes, e.hops))
		}
	}
	matrices := evalMatrixBytes(base.classes, fitting)
	return requireBudget("eval", e.opt.MemoryBudget, e.footprint()+max(least, matrices))
}

// competitorBytes a node is what a method holds beside its judgement: margins, losses, or areas, and the judgement of a
// split.
const competitorBytes = 16 + judgementBytes

// footprint is the number of bytes that a repeat holds beside its problem.
func (e *evaluator) footprint() int64 {
	return (repeatBytes + testedBytes + competitorBytes) * int64(len(e.base.labels))
}

// checkVectors looks at the vectors of the options, which the store's sizes bound.
func (e *evaluator) checkVectors() error {
	n := len(e.base.labels)
	if labels := e.opt.NoisyLabels; labels != nil && len(labels) != n {
		return fmt.Errorf("noisy labels: got %d, want one for each of the %d nodes: %w", len(labels), n, ErrShape)
	}
	if splits := e.opt.Splits; splits != nil && len(splits) != n {
		return fmt.Errorf("splits: got %d, want one for each of the %d nodes: %w", len(splits), n, ErrShape)
	}
	for v, y := range e.opt.NoisyLabels {
		if y < kv.NoClass || int(y) >= e.base.classes {
			err := fmt.Errorf("noisy label is class number %d, want one below %d or none: %w",
				y, e.base.classes, ErrUnknownClass)
			return naming.Node(e.tx, kv.NodeID(v), err)
		}
	}
	for v, split := range e.opt.Splits {
		if split > SplitTest {
			err := fmt.Errorf("split number %d, want one up to %d: %w", split, SplitTest, ErrSplit)
			return naming.Node(e.tx, kv.NodeID(v), err)
		}
	}
	return nil
}

// givenSplits returns the splits that every repeat uses, nil if each draws its own.
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

// splits are those of a draw.
func (e *evaluator) splits(seed uint64) ([]Split, error) {
	if e.storeSplits != nil {
		return e.storeSplits, nil
	}
	return drawSplits(e.base.order, e.base.labels, e.opt.Split, seed)
}
