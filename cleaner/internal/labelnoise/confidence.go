package labelnoise

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/kv"
)

// noiseSeed is the bit of the seed that tells the classifier whose mistakes are made from those that are measured. Model
// seeds, which are fewer, use the bits from 32 on.
const noiseSeed = 62

// spoilByConfidence gives labels that a classifier takes nodes for, as BeGIN's noise of that name (Kim and others,
// arXiv:2506.12468): the shares of bySharesOfOthers are its predictions. BeGIN has those of a GraphSAGE; here they are of
// Graph.Predict.
func spoilByConfidence(ctx context.Context, s *spoiling) (err error) {
	predictions, err := s.Predict(ctx, s.seed^1<<noiseSeed)
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
