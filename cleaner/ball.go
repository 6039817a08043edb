package cleaner

import (
	"context"
	"maps"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// ballNodeBytes is what a node of the ball takes in the maps of ops.OperatorRows.
const ballNodeBytes = 128

// surround computes the surrounding of one node with a given label, or kv.NoClass, from the rows of the node in S_1 … S_K
// alone: no propagation of the whole graph. ops.ErrReach where the K-hop ball does not fit opt.MemoryBudget.
func surround(
	ctx context.Context, tx *kv.Tx, direction kv.Direction, v kv.NodeID, given kv.Class, predictions ops.Source, hops int,
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
	err = readScattered(ctx, predictions, slices.Sorted(maps.Keys(ball)), func(u kv.NodeID, p []float32) error {
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
		if weight := rows[0][u]; weight != 0 && given != kv.NoClass {
			around.oppose(tx, u, weight, given, label, p)
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

// readScattered reads the rows of ascending nodes, near ones together, and calls visit for each; row is borrowed.
func readScattered(
	ctx context.Context, src ops.Source, nodes []kv.NodeID, visit func(v kv.NodeID, row []float32) error,
) error {
	const (
		gap  = 16  // nodes further apart are read apart
		span = 512 // rows read together at most
	)
	c := src.Width()
	var values []float32
	for from := 0; from < len(nodes); {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := from + 1
		for to < len(nodes) && nodes[to]-nodes[to-1] <= gap && nodes[to]-nodes[from] < span {
			to++
		}
		rows := kv.Range{First: nodes[from], End: nodes[to-1] + 1}
		values = slices.Grow(values[:0], int(rows.End-rows.First)*c)[:int(rows.End-rows.First)*c]
		if err := src.Read(rows, 0, c, values); err != nil {
			return err
		}
		for _, v := range nodes[from:to] {
			if err := visit(v, values[int(v-rows.First)*c:][:c]); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}
