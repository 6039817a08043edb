package cleaner

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// ballNodeBytes is what a node of the ball takes at most in ops.OperatorRows and in the list of the ball.
const ballNodeBytes = 128

// ballSteps is how many arcs may be walked around a node, within the memory for the entries that come of them.
func ballSteps(opt ops.Options) *atomic.Int64 {
	budget := opt.MemoryBudget
	if budget == 0 {
		budget = kv.DefaultMemoryBudget()
	}
	steps := new(atomic.Int64)
	steps.Store(budget / ballNodeBytes)
	return steps
}

// surround computes the surrounding of one node with a class as label, or kv.NoClass, from the rows of the node in S_1 … S_K
// alone: no propagation of the whole graph. If the nodes within K hops do not fit opt.MemoryBudget, it returns
// ops.ErrReach.
func surround(
	ctx context.Context, tx *kv.Tx, direction kv.Direction, v kv.NodeID, class kv.Class, predictions ops.Source, hops int,
	opt ops.Options,
) (*surrounding, error) {
	rows, err := ops.OperatorRows(ctx, tx, direction, v, hops, ballSteps(opt))
	if err != nil {
		return nil, err
	}
	ball := []kv.NodeID{v}
	for _, row := range rows {
		ball = append(ball, row.Nodes...)
	}
	slices.Sort(ball)
	places := make([]int, len(rows)) // of the next entry of each row
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
	err = rowstore.EachOf(ctx, predictions, slices.Compact(ball), func(u kv.NodeID, p []float32) error {
		if u == v {
			for x := range c {
				sums[x][0] = float64(p[x])
			}
		}
		label, err := labels.At(u)
		if err != nil {
			return err
		}
		var first float64 // the weight in S_1
		for k, row := range rows {
			at := places[k]
			if at == len(row.Nodes) || row.Nodes[at] != u {
				continue
			}
			places[k]++
			weight := row.Values[at]
			if k == 0 {
				first = weight
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
		if first != 0 && class != kv.NoClass {
			around.oppose(tx, u, first, class, label, p)
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
