package cleaner

import (
	"cmp"
	"context"
	"os"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A Plan is the memory and the disk that a Clean takes, and a Predict before it if there are no predictions.
type Plan struct {
	Nodes, Classes int
	Edges          int64

	// Steps is the price of the diagonals, Refusal the error with which Clean refuses to begin, or nil.
	Steps   float64
	Refusal error

	LeastBytes     int64 // the least Options.MemoryBudget
	StoreBytes     int64 // about as much is written to the store
	TemporaryBytes int64 // about the most at once in temporary files
}

// PlanClean plans a cleaning of a store. It reads labels and splits, and walks the adjacency for its sizes and for the
// price of the diagonals. If the budget is too small, it returns an *ops.BudgetError.
func PlanClean(ctx context.Context, tx *kv.Tx, opt Options) (*Plan, error) {
	opt.Notice, opt.Warn = nil, nil
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	p, err := readProblem(tx, opt)
	if err != nil {
		return nil, err
	}
	if err := p.requireForCleaning(ctx, opt); err != nil {
		return nil, err
	}
	plan := &Plan{Nodes: len(p.labels), Classes: p.classes, Edges: p.sizes.Edges(), LeastBytes: p.leastForCleaning(opt)}
	if plan.Steps, err = ops.DiagonalSteps(ctx, p.graph, opt.Hops, ops.Options{Workers: opt.Workers}); err != nil {
		return nil, err
	}
	plan.Refusal = cmp.Or(p.few, ops.CheckSteps(opt.Hops, plan.Steps))
	plan.StoreBytes, plan.TemporaryBytes, err = p.diskBytes(opt)
	return plan, err
}

// resultBytes bounds the stored bytes of a node: columns of the scores, and the index on them. 20 to 23 bytes were
// measured.
const resultBytes = 45

// trains says whether the built-in classifier is trained: there are no predictions, or they are joined with its own.
func (p *problem) trains(opt Options) bool {
	if p.source == SourceImported {
		return opt.joinsImported() && p.lacksToJoin() == ""
	}
	return p.source == "" && p.predictions == nil
}

// diskBytes are about the bytes that a cleaning writes to the store, and those of its temporary files: diagonals,
// features, labels under test and scores, and the columns that are propagated; where a classifier is trained, its
// inputs, and its predictions and the joined ones. The graph is measured.
func (p *problem) diskBytes(opt Options) (stored, temporary int64, err error) {
	n, predictions, columns := int64(len(p.labels)), 4*int64(p.classes), p.classes // bytes of a node
	cells, labels := 4*int64(width(opt.Method, opt.Hops)), int64(1+labelmodel.CountRivals(p.classes))
	if opt.Method != nil {
		columns, labels = 2*columns, 2
	}
	stored, temporary = resultBytes, (cells+4)*labels+12+8*int64(opt.Hops)
	if p.trains(opt) {
		input := InputStructure
		if p.hasFeatures() {
			input = InputFeatures
		}
		stored, temporary = stored+predictions, temporary+4*int64(p.inputWidth(input))+2*predictions
	}
	operators := opt.ops(p.heldInScoring())
	operators.Scratch = scratch.Temporary(os.TempDir())
	propagation, err := ops.Plan(p.sizes, columns, opt.Hops, operators)
	return stored * n, temporary*n + propagation.ScratchBytes, err
}

// MemoryBudget bounds the memory that is reached at random: a few numbers for every node, and the data that operators
// hold beside them. Arrays that are walked in order lie in files of package scratch and do not count. A job adds up the
// least memory that counts before it begins, and fails with an *ops.BudgetError where it does not fit; memory beyond it
// makes tiles wider. On top come a few megabytes for every worker.

// Bytes a node.
const (
	labelBytes    = 4         // a kv.Class
	problemBytes  = 4 + 1     // of a problem: labels, splits
	trainingBytes = 4 + 4 + 1 // of training: labels, those of the training split alone, splits
	setBytes      = 1         // of a nodeSet, at most
	sampleBytes   = 5*4 + 1   // a node of a sample: labels, what people said, place in file order; planted labels
)

// Matrices between classes.
const fitLines = 2 * 4 // of a labelFit: its background and a modelState; the fit before may still be there

// heldInScoring is the memory that score holds all the time: the problem, the sample that is fitted to, and the
// matrices between classes.
func (p *problem) heldInScoring() int64 {
	c, most := int64(p.classes), mostModelNodes(p.classes)
	sample, matrices := min(p.fitting, most), 8*fitLines*c*min(c, int64(most))
	if p.method != nil {
		sample, matrices = p.method.SampleSize(p.fitting), p.method.MatrixBytes(p.classes, p.fitting)
	}
	return (problemBytes+setBytes)*int64(len(p.labels)) + labelBytes*int64(len(p.tested)) +
		sampleBytes*int64(sample) + matrices
}

// leastForScore is the least memory of score. The graph is measured.
func (p *problem) leastForScore(opt Options) int64 {
	return p.heldInScoring() + leastForFeatures(p.sizes, opt.Hops)
}

// leastForCleaning is the least memory of score, and of training the built-in classifier where that is done. The graph
// is measured.
func (p *problem) leastForCleaning(opt Options) int64 {
	if p.trains(opt) {
		return max(p.leastForScore(opt), p.leastForTraining())
	}
	return p.leastForScore(opt)
}

// requireForCleaning measures the graph, and says that a budget is less than a cleaning needs.
func (p *problem) requireForCleaning(ctx context.Context, opt Options) error {
	if err := p.measure(ctx, opt.ops(0)); err != nil {
		return err
	}
	return requireBudget("clean", opt.MemoryBudget, p.leastForCleaning(opt))
}

// leastForFeatures is the least memory for agreement features: diagonals first, then the tiles.
func leastForFeatures(s *ops.Sizes, hops int) int64 {
	return max(s.LeastForDiagonals(hops), s.LeastForPropagate())
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
