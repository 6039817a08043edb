package cleaner

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/kv"
)

// noiseSeed is the bit of the seed that tells the classifier whose mistakes are made from those that are measured. Model
// seeds, which are fewer, use the bits from 32 on.
const noiseSeed = 62

// spoilByConfidence gives labels that a classifier takes nodes for, as BeGIN's noise of that name (Kim and others,
// arXiv:2506.12468): the shares of bySharesOfOthers are its predictions. Where BeGIN has those of a GraphSAGE, it is the
// built-in base classifier here, trained on the true labels of a split of its own, 0.8/0.1/0.1. Every node is predicted by
// networks that have not learned its label.
func spoilByConfidence(ctx context.Context, s *spoiling) (err error) {
	base := *s.baseProblem
	if base.splits, err = drawSplits(base.order, base.labels, defaultShares, s.seed); err != nil {
		return err
	}
	predictions, _, err := trainBase(ctx, base, PredictOptions{
		Seed: s.seed ^ 1<<noiseSeed, Workers: s.opt.Workers, MemoryBudget: s.opt.MemoryBudget, Progress: s.opt.Progress,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, predictions.Close()) }()
	return s.bySharesOfOthers(ctx, nearness{predictions, func(_ kv.NodeID, row []float32, shares []float64) {
		for j, p := range row {
			if s.present[j] {
				shares[j] = float64(p)
			}
		}
	}})
}

// leastForConfidence is what the training needs.
func leastForConfidence(ctx context.Context, p *baseProblem) (int64, error) {
	base := *p
	var err error
	if base.splits, err = drawSplits(base.order, base.labels, defaultShares, 0); err != nil {
		return 0, err
	}
	return base.leastForTraining(ctx)
}
