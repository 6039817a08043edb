package cleaner

import (
	"context"
	"maps"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// ballNodeBytes is what a node of the ball takes in the maps of ops.OperatorRows.
const ballNodeBytes = 128

// surround computes the surrounding of one node with a class as label, or kv.NoClass, from the rows of the node in S_1 … S_K
// alone: no propagation of the whole graph. If the nodes within K hops do not fit opt.MemoryBudget, it returns
// ops.ErrReach.
func surround(
	ctx context.Context, tx *kv.Tx, direction kv.Direction, v kv.NodeID, class kv.Class, predictions ops.Source, hops int,
	opt ops.Options,
) (*surrounding, error) {
	budget := opt.MemoryBudget
	if budget == 0 {
		budget = kv.DefaultMemoryBudget()
	}
	rows, err := ops.OperatorRows(ctx, tx, direction, v, hops, int(budget/ballNodeBytes))
	if err != nil {
		return nil, err
	}
	ball := map[kv.NodeID]struct{}{v: {}}
	for _, row := range rows {
		for u := range row {
			ball[u] = struct{}{}
		}
	}
	classes := tx.Classes()
	number := make(map[string]int, len(classes))
	for i, name := range classes {
		number[name] = i
	}
	labels, err := tx.Reader(kv.LabelColumn)
	if err != nil {
		return nil, err
	}

	c, width := predictions.Width(), featureWidth(hops)
	sums := make([][]float64, c)
	for x := range sums {
		sums[x] = make([]float64, width)
	}
	around := &surrounding{features: make([][]float32, c), labels: make([][]int64, hops)}
	for k := range around.labels {
		around.labels[k] = make([]int64, c)
	}
	err = rowstore.EachOf(ctx, predictions, slices.Sorted(maps.Keys(ball)), func(u kv.NodeID, p []float32) error {
		if u == v {
			for x := range c {
				sums[x][0] = float64(p[x])
			}
		}
		label, err := labels.At(u)
		if err != nil {
			return err
		}
		for k, row := range rows {
			weight := row[u]
			if weight == 0 {
				continue
			}
			for x := range c {
				sums[x][k+1] += float64(weight * float64(p[x]))
			}
			if !label.IsNull() {
				y := number[label.String()]
				sums[y][hops+k+1] += weight
				around.labels[k][y]++
			}
		}
		if weight := rows[0][u]; weight != 0 && class != kv.NoClass {
			around.oppose(tx, u, weight, class, label, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for x := range around.features {
		around.features[x] = make([]float32, width)
		for f, sum := range sums[x] {
			around.features[x][f] = float32(sum)
		}
	}
	return around, nil
}
