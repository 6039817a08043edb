package cleaner

import (
	"context"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// What MemoryBudget bounds is what is reached at random: a few numbers for every node, and what the operators hold beside
// them. Arrays that are walked in order lie in files of package scratch and do not count. A job adds up the least of
// what does before it begins and fails with an *ops.BudgetError where it does not fit; what is left beyond it makes
// tiles wider. On top come a few megabytes for every worker and the matrices between classes.

// Bytes a node.
const (
	labelBytes    = 4         // a kv.Class
	problemBytes  = 4 + 1     // of a problem: labels, splits
	drawnBytes    = 4         // while splits are drawn: a kv.NodeID
	trainingBytes = 4 + 4 + 1 // of a baseProblem: labels, those of the training split alone, splits
	repeatBytes   = 4 + 8 + 1 // of a repeat beside its problem: true labels, scores, flags
	testedBytes   = 4         // a node measured in a repeat
	setBytes      = 1         // of a nodeSet, at most
	diagonalBytes = 8         // a hop, in memory
	sampleBytes   = 4 + 4     // a node of a sample: its label, its place in file order
	plantingBytes = 8 + 4 + 4 + 1
)

// requireBudget is an *ops.BudgetError where a job wants more than a budget.
func requireBudget(job string, budget, least int64) error {
	if budget < least {
		return &ops.BudgetError{Job: job, Budget: budget, Least: least}
	}
	return nil
}

// leastForFeatures is what agreement features need: diagonals first, then the tiles. Where the diagonals do not lie in
// files, both.
func leastForFeatures(s *ops.Sizes, hops, n int, inFiles bool) int64 {
	propagate := s.LeastForPropagate()
	if !inFiles {
		propagate += diagonalBytes * int64(hops) * int64(n)
	}
	return max(s.LeastForDiagonals(hops), propagate)
}

// scoringBytes is what score holds whatever it is at: the problem, and the sample that mislabels are planted among.
func scoringBytes(n, fitting int) int64 {
	return (problemBytes+setBytes)*int64(n) + (sampleBytes+plantingBytes)*int64(plantedAmong(fitting))
}

// leastForScore is what score needs for n nodes and a number of fitting nodes.
func leastForScore(s *ops.Sizes, n, fitting, hops int) int64 {
	return scoringBytes(n, fitting) + leastForFeatures(s, hops, n, true)
}

// leastForTraining is what trainBase needs.
func (p *baseProblem) leastForTraining(ctx context.Context) (int64, error) {
	s, err := p.measured(ctx)
	if err != nil {
		return 0, err
	}
	held := trainingBytes * int64(p.graph.NumNodes())
	if p.hasFeatures() {
		return held + s.LeastForPropagate(), nil
	}
	return held + max(s.LeastForDiagonals(p.labelHops()), s.LeastForPropagate()), nil
}

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
