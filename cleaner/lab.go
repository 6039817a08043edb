package cleaner

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/workplace"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A Lab does single steps of a cleaning with labels, splits and predictions that are not those of the store. It only
// reads the store. It is the door of package evaluate, and belongs to one goroutine.
type Lab struct {
	Order   func(yield func(kv.NodeID, error) bool) // every node, in file order
	Labels  []kv.Class                              // [n] of the store
	Graph   ops.Graph                               // that the steps walk
	Classes int
	Scratch *scratch.Dir // where long arrays are that are gone with the process

	Features ops.Source // [n×d] that the built-in classifier learns from; nil: there are none

	tx        *kv.Tx
	opt       Options
	clock     *clock
	base      problem // of these labels, without splits
	untold    string  // of the features, until Train tells it
	diagonals *workplace.Diagonals
}

// A Trial is the input of a Lab.
type Trial struct {
	Labels      []kv.Class // [n] given labels
	Splits      []Split    // [n]
	Given       bool       // the splits, whoever made predictions may have used them
	Predictions *rowstore.Store
	Foreign     bool // the predictions come from outside
	Seed        uint64
}

// trialBytes a node are held by the caller of a Lab: noisy labels, a judgement of all nodes and one of a split, the
// nodes that are measured, and the data of a competitor.
const trialBytes = 46

// NewLab reads labels and graph. The budget of its steps is that of opt less the caller's memory. The caller
// closes it.
func NewLab(ctx context.Context, tx *kv.Tx, opt Options) (l *Lab, err error) {
	if opt, err = opt.withDefaults(); err != nil {
		return nil, err
	}
	if err := checkLabels(tx); err != nil {
		return nil, err
	}
	p, err := problemOf(tx)
	if err != nil {
		return nil, err
	}
	var notice string
	if p.features, notice, err = baseFeatures(ctx, tx); err != nil {
		return nil, err
	}
	p.place = workplace.Temporary(tx.Store().Scratch())
	l = &Lab{
		tx: tx, opt: opt, base: p, Labels: p.labels, Order: p.order, Graph: p.graph, Classes: p.classes,
		Features: p.features, Scratch: p.place.Scratch(), untold: notice,
	}
	held := trialBytes * int64(len(l.Labels))
	if err := requireBudget("eval", opt.MemoryBudget, held+1); err != nil {
		return nil, err
	}
	l.opt.MemoryBudget -= held
	err = l.base.measure(ctx, l.opt.ops(0))
	l.clock, l.opt.OnStage, l.opt.clock = l.opt.clock, nil, nil // nobody is told of the parts of a step
	return l, err
}

// Close gives back the memory and files of the lab.
func (l *Lab) Close() error { return l.diagonals.Close() }

// Stage tells that a step ends now. The first began with NewLab.
func (l *Lab) Stage(name string) { l.clock.end(ops.Stage{Name: name}) }

// Operators are the options of the operators.
func (l *Lab) Operators() ops.Options { return l.opt.ops(0) }

// Splits are those of the store; nil if it has none.
func (l *Lab) Splits() ([]Split, error) {
	splits, drawn, err := Splits(l.tx, l.Labels, 0)
	if drawn {
		return nil, err
	}
	return splits, err
}

// DrawSplits draws shares of training, validation and test nodes; 0.8, 0.1 and 0.1 if all are zero.
func (l *Lab) DrawSplits(shares [3]float64, seed uint64) ([]Split, error) {
	if shares == [3]float64{} {
		shares = defaultShares
	}
	return drawSplits(l.Order, l.Labels, shares, seed)
}

// problem is that of a trial, with its options.
func (l *Lab) problem(t Trial) (problem, Options) {
	p, opt := l.base, l.opt
	p.labels, p.splits, opt.Seed = t.Labels, t.Splits, t.Seed
	return p, opt
}

// Train trains the built-in classifier, and returns its predictions. The caller closes them.
func (l *Lab) Train(ctx context.Context, t Trial) (*rowstore.Store, error) {
	if l.untold != "" {
		l.opt.notice("%s", l.untold)
		l.untold = ""
	}
	p, opt := l.problem(t)
	predictions, _, err := p.trainAndPredict(ctx, opt)
	return predictions, err
}

// ReadPredictions reads predictions from outside. The caller closes them.
func (l *Lab) ReadPredictions(ctx context.Context, set PredictionSet) (*rowstore.Store, error) {
	return readPredictions(ctx, l.tx, l.Scratch, set)
}

// A Scored has the results of Clean for a Trial: scores [n] by NodeID, NaN without a label, and the Threshold and
// MislabelRate of a Run.
type Scored struct {
	Scores                  []float64
	Threshold, MislabelRate float64
}

// Score scores a trial by a method, nil for the label model.
func (l *Lab) Score(ctx context.Context, t Trial, by method.Method) (scored Scored, err error) {
	p, opt := l.problem(t)
	opt.Method = by
	if l.diagonals == nil {
		held := (labelBytes + problemBytes) * int64(len(t.Labels))
		if l.diagonals, err = p.place.Diagonals(ctx, p.graph, opt.Hops, opt.ops(held)); err != nil {
			return scored, err
		}
	}
	p.diagonals, p.predictions, p.crossFitted = l.diagonals.Diagonals, t.Predictions, !t.Foreign && p.crossFits()
	if t.Given {
		p.storeSplits = t.Splits
	}
	if by == nil && t.Foreign {
		mixture, _, _, err := combine(ctx, &p, opt)
		if err != nil {
			return scored, err
		}
		defer func() { err = errors.Join(err, mixture.Close()) }()
	}
	result, err := p.score(ctx, opt, nil)
	if err != nil {
		return scored, err
	}
	scored = Scored{Threshold: result.threshold, MislabelRate: result.rate}
	for _, s := range result.scores.Data {
		scored.Scores = append(scored.Scores, float64(s))
	}
	return scored, result.Close()
}

// MostLessons is how many nodes the built-in classifier learns from at most.
const MostLessons = baseTraining

// Lessons returns what the built-in classifier would learn from in a trial with so many classes, and whether the inputs
// are of features, or of the structure. Of several inputs, they are the last that the classifier would try. The caller
// closes their inputs.
func (l *Lab) Lessons(ctx context.Context, t Trial, classes int) (_ *Lessons, ofFeatures bool, err error) {
	p, opt := l.problem(t)
	p.classes = classes
	candidates, err := p.candidates(ctx, opt)
	if err != nil {
		return nil, false, err
	}
	inputs, err := p.inputs(ctx, candidates[len(candidates)-1], opt, opt.MemoryBudget-p.heldInTraining())
	if err != nil {
		return nil, false, err
	}
	lessons, err := p.lessons(inputs, opt.Seed)
	if err != nil {
		return nil, false, errors.Join(err, inputs.Close())
	}
	return lessons, p.hasFeatures(), nil
}

// Lessons are labelled nodes with the inputs from which the built-in classifier learns.
type Lessons struct {
	Inputs *rowstore.Store // of all nodes
	Right  []kv.Class      // [rows] by ascending NodeID
	Order  []uint32        // rows in file order
	nodes  *nodeSet        // whose ranks are the rows
}

// lessons are the nodes that teach, or baseTraining of them drawn with the seed.
func (p *problem) lessons(inputs *rowstore.Store, seed uint64) (*Lessons, error) {
	nodes, order, err := drawNodes(p.order, len(p.labels), p.countTaught(), baseTraining, seed, p.teachesBase)
	if err != nil {
		return nil, err
	}
	return &Lessons{Inputs: inputs, Right: nodes.pick(p.labels), Order: order, nodes: nodes}, nil
}

// Read sets x [(end−first)×width] to the inputs of rows first ≤ r < end.
func (l *Lessons) Read(first, end int, x []float32) error {
	width := l.Inputs.Width()
	for i, v := range l.nodes.members[first:end] {
		if err := l.Inputs.Read(kv.Range{First: v, End: v + 1}, 0, width, x[i*width:][:width]); err != nil {
			return err
		}
	}
	return nil
}

// Each calls visit with the node of every row, ascending.
func (l *Lessons) Each(visit func(row int, v kv.NodeID)) {
	for row, v := range l.nodes.members {
		visit(row, v)
	}
}
