package cleaner

import (
	"context"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// What MemoryBudget bounds is what is reached at random: a few numbers for every node, and what the operators hold
// beside them. Arrays that are walked in order lie in files of package scratch and do not count. A job adds up the
// least of what does before it begins and fails with an *ops.BudgetError where it does not fit; what is left beyond
// it makes tiles wider. On top come a few megabytes for every worker.

// Bytes a node.
const (
	labelBytes    = 4         // a kv.Class
	problemBytes  = 4 + 1     // of a problem: labels, splits
	trainingBytes = 4 + 4 + 1 // of a baseProblem: labels, those of the training split alone, splits
	setBytes      = 1         // of a nodeSet, at most
	sampleBytes   = 5*4 + 1   // a node of a sample: labels, what people said, place in file order; planted labels
)

// What matrices between classes take.
const fitLines = 2 * 4 // of a labelFit: its background, and what a modelState has; those of the fit before may still be there

// matrixBytes is what the matrices between classes take, for a number of classes and of fitting nodes.
func matrixBytes(m method.Method, classes, fitting int) int64 {
	if m != nil {
		return m.MatrixBytes(classes, fitting)
	}
	c := int64(classes)
	return 8 * fitLines * c * min(c, int64(mostModelNodes(classes)))
}

// fitBytes is what fitting a base classifier takes of memory: sums and weights, and two batches of both ends. It has so
// many columns of features, none if it learns from training labels over so many hops. Neighbours of few classes may
// disagree.
func fitBytes(features, classes, hops int) int64 {
	switch {
	case features == 0:
	case classes <= mostHeardClasses:
		features, hops = 2*features, 1
	default:
		hops = 0
	}
	columns := int64(features) + int64(hops)*int64(classes)
	return 2*4*baseBatch*(columns+int64(classes)) + nn.RidgeBytes(columns, int64(classes))
}

// requireBudget returns an *ops.BudgetError if a job wants more than a budget.
func requireBudget(job string, budget, least int64) error {
	if budget >= least {
		return nil
	}
	return &ops.BudgetError{Job: job, Budget: budget, Least: least}
}

// CheckTransition returns an *ops.BudgetError if the full transition matrix of a store takes more than budget bytes;
// zero means machine.MemoryBudget.
func CheckTransition(tx *kv.Tx, budget int64) error {
	if budget == 0 {
		budget = machine.MemoryBudget()
	}
	classes := int64(len(tx.Classes()))
	return requireBudget("transition matrix", budget, 8*classes*classes)
}

// leastForFeatures is what agreement features need: diagonals first, then the tiles.
func leastForFeatures(s *ops.Sizes, hops int) int64 {
	return max(s.LeastForDiagonals(hops), s.LeastForPropagate())
}

// scoringBytes is what score holds whatever it is at: the problem, the sample that is fitted to, and the matrices between
// classes.
func scoringBytes(m method.Method, n, fitting, classes int) int64 {
	sample := min(fitting, mostModelNodes(classes))
	if m != nil {
		sample = m.SampleSize(fitting)
	}
	return (problemBytes+setBytes)*int64(n) + sampleBytes*int64(sample) + matrixBytes(m, classes, fitting)
}

// leastForScore is what score needs for n nodes, a number of fitting nodes, and classes.
func leastForScore(m method.Method, s *ops.Sizes, n, fitting, classes, hops int) int64 {
	return scoringBytes(m, n, fitting, classes) + leastForFeatures(s, hops)
}

// leastForTraining is what trainAndPredict needs. The graph is measured with opt.
func (p *baseProblem) leastForTraining(ctx context.Context, opt ops.Options) (int64, error) {
	s, err := p.graphSizes(ctx, opt)
	if err != nil {
		return 0, err
	}
	footprint := p.heldInTraining()
	if p.hasFeatures() {
		return footprint + s.LeastForPropagate(), nil
	}
	return footprint + max(s.LeastForDiagonals(p.labelHops()), s.LeastForPropagate()), nil
}

// heldInTraining is what trainAndPredict holds whatever it is at.
func (p *baseProblem) heldInTraining() int64 {
	features := 0
	if p.hasFeatures() {
		features = p.features.Width()
	}
	return trainingBytes*int64(p.graph.NumNodes()) + fitBytes(features, p.classes, p.labelHops())
}

// requireForTraining says that a budget is less than trainAndPredict needs, for which the graph is measured.
func (p *baseProblem) requireForTraining(ctx context.Context, opt Options) error {
	least, err := p.leastForTraining(ctx, opt.ops(0))
	if err != nil {
		return err
	}
	return requireBudget("predict", opt.MemoryBudget, least)
}

// graphSizes are the sizes of the graph, walked for them once.
func (p *baseProblem) graphSizes(ctx context.Context, opt ops.Options) (*ops.Sizes, error) {
	if p.sizes == nil {
		sizes, err := ops.Measure(ctx, p.graph, opt)
		if err != nil {
			return nil, err
		}
		p.sizes = sizes
	}
	return p.sizes, nil
}

// mostFitting is the most nodes that the fitting set can have: see isFitting.
func (p *problem) mostFitting() (count int) {
	for v, y := range p.labels {
		if y != kv.NoClass && (p.drawn || p.fitsAll() || p.splits[v] == SplitValidation) {
			count++
		}
	}
	return count
}
