package cleaner

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/clock"
	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// featureNames are the columns of so many agreement features: P0 … PK, L1 … LK, or P0 and L1 … LK.
func featureNames(width, hops int) []string {
	var names []string
	for k := range width - hops {
		names = append(names, fmt.Sprintf("P%d", k))
	}
	for k := range hops {
		names = append(names, fmt.Sprintf("L%d", k+1))
	}
	return names
}

// Features computes the agreement features of the store's given labels, Z of the package documentation, with hops (0:
// 3) for K: [n×(2K+1)] by NodeID. The rows of unlabelled nodes are NaN. Read the rows like an
// ops.Source, and call Close. They use the predictions of the last run: the joined ones, if it joined any, otherwise
// the stored ones. They lie in temporary files. Kept diagonals of a cleaning are used. Features needs predictions in
// the store (else kv.ErrNotFound) but no run. opt.MemoryBudget counts the labels; an *ops.BudgetError has the least
// budget.
func Features(
	ctx context.Context, tx *kv.Tx, hops int, opt ops.Options,
) (*FeatureRows, error) {
	if hops == 0 {
		hops = defaultHops
	}
	stages, onStage := clock.New(opt.OnStage)
	opt.OnStage = onStage
	labels, err := readLabels(tx)
	if err != nil {
		return nil, err
	}
	matrix, err := scoredFrom(tx)
	if err != nil {
		return nil, err
	}
	if err := checkRows(tx, matrix); err != nil {
		return nil, err
	}
	predictions := inClassOrder(tx, matrix)
	if opt.MemoryBudget == 0 {
		opt.MemoryBudget = machine.MemoryBudget()
	}
	stages.End(ops.Stage{Name: "read"})
	footprint, budget := labelBytes*int64(len(labels)), opt.MemoryBudget
	opt.MemoryBudget = max(1, budget-footprint) // 0 would ask for the default
	place, err := readingPlace(tx)
	if err != nil {
		return nil, err
	}
	z, err := agreementRows(ctx, graphOf(tx), labels, predictions, [][]kv.Class{labels}, hops, place, opt)
	if small := (*ops.BudgetError)(nil); errors.As(err, &small) {
		return nil, &ops.BudgetError{Job: small.Job, Budget: budget, Least: small.Least + footprint}
	}
	if err != nil {
		return nil, err
	}
	stages.End(ops.Stage{Name: "features"})
	return &FeatureRows{z[0]}, nil
}

// FeatureRows are the agreement features of every node, [n×(2K+1)]. Read and Width are those of an ops.Source.
type FeatureRows struct{ *agreement }
