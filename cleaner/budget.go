package cleaner

import (
	"context"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// What MemoryBudget bounds are the arrays with a number or a few for every node, and what the operators hold beside
// them. A job adds up the least of them before it begins and fails with an *ops.BudgetError where they do not fit; what
// is left beyond it makes tiles wider, and keeps rows out of temporary files. On top come a few megabytes for every
// worker and the matrices between classes.

// Bytes a node.
const (
	labelBytes    = 4              // a kv.Class
	orderBytes    = 4              // a kv.NodeID
	problemBytes  = 4 + 4 + 1      // of a problem: labels, order, splits
	outcomeBytes  = 8 + 4 + 4      // scores, suggested labels, confidence
	trainingBytes = 4 + 4 + 1 + 4  // of a baseProblem: labels, order, splits, and the nodes of two splits
	repeatBytes   = 4 + 4 + 8 + 1  // of a repeat beside its problem: true labels, nodes measured, scores, flags
	diagonalBytes = 8              // a hop
	fittingBytes  = 4 + 4 + 4 + 12 // a fitting node: itself, its label, and its places in the order and by NodeID
	drawBytes     = 4 + 1          // a fitting node and draw: label and whether it is planted
)

// requireBudget is an *ops.BudgetError where a job wants more than a budget.
func requireBudget(job string, budget, least int64) error {
	if budget < least {
		return &ops.BudgetError{Job: job, Budget: budget, Least: least}
	}
	return nil
}

// leastForFeatures is what agreement features need that take z bytes: diagonals first, then both and the tiles.
func leastForFeatures(s *ops.Sizes, n, hops int, z int64) int64 {
	return max(s.LeastForDiagonals(hops), diagonalBytes*int64(hops)*int64(n)+z+s.LeastForPropagate(hops))
}

// scoringBytes is what score holds whatever it is at: the problem, and the labels under test of all draws.
func scoringBytes(n, fitting, draws int) int64 {
	return problemBytes*int64(n) + int64(fitting)*(fittingBytes+drawBytes*int64(draws))
}

// zBytes is the agreement features of the given labels and of those of every draw.
func zBytes(n, fitting, draws, hops int) int64 {
	return 4 * int64(featureWidth(hops)) * (int64(n) + int64(fitting)*int64(draws))
}

// leastForScore is what score needs for n nodes, a number of fitting nodes, and draws.
func leastForScore(s *ops.Sizes, n, fitting, draws, hops int) int64 {
	z := zBytes(n, fitting, draws, hops)
	outcome := diagonalBytes*int64(hops)*int64(n) + z + outcomeBytes*int64(n)
	return scoringBytes(n, fitting, draws) + max(leastForFeatures(s, n, hops, z), outcome)
}

// leastForTraining is what trainBase needs.
func (p *baseProblem) leastForTraining(ctx context.Context, hops int) (int64, error) {
	s, err := p.measured(ctx)
	if err != nil {
		return 0, err
	}
	n := int64(p.graph.NumNodes())
	if p.hasFeatures() {
		return trainingBytes*n + s.LeastForPropagate(hops), nil
	}
	hops = p.labelHops()
	return trainingBytes*n + max(s.LeastForDiagonals(hops), structureBytes(n, hops)+s.LeastForPropagate(hops)), nil
}

// structureBytes is what a baseProblem holds for structural inputs: diagonals, training labels and degrees.
func structureBytes(n int64, hops int) int64 { return n * (diagonalBytes*int64(hops) + labelBytes + 4) }

// measured is the sizes of the graph, walked for them once.
func (p *baseProblem) measured(ctx context.Context) (*ops.Sizes, error) {
	if p.sizes == nil {
		sizes, err := ops.Measure(ctx, p.graph, ops.Options{})
		if err != nil {
			return nil, err
		}
		p.sizes = sizes
	}
	return p.sizes, nil
}

// fittingIn counts the labelled nodes of the validation split.
func fittingIn(labels []kv.Class, splits []Split) (count int) {
	for v, y := range labels {
		if y != kv.NoClass && splits[v] == SplitValidation {
			count++
		}
	}
	return count
}
