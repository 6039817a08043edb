package cleaner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// errBall is wrapped where the nodes around one node are too many to explain it by.
var errBall = errors.New("cleaner: neighbourhood is too large")

// ballNodeBytes is what a node of the ball takes in the maps of operatorRow.
const ballNodeBytes = 128

// rowFeatures computes the agreement features of one node for every class as its label [c][2K+1], from the rows of the
// node in S_1 … S_K alone: no propagation of the whole graph. errBall where the K-hop ball does not fit
// opt.MemoryBudget.
func rowFeatures(
	ctx context.Context, tx *kv.Tx, v kv.NodeID, predictions ops.Source, hops int, opt ops.Options,
) ([][]float32, error) {
	budget := opt.MemoryBudget
	if budget == 0 {
		budget = kv.DefaultMemoryBudget()
	}
	rows, err := operatorRows(ctx, tx, v, hops, int(budget/ballNodeBytes))
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
				sums[x][k+1] += weight * float64(p[x])
			}
			if !label.IsNull() {
				sums[number[label.String()]][hops+k+1] += weight
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	z := make([][]float32, c)
	for x := range z {
		z[x] = make([]float32, width)
		for f, sum := range sums[x] {
			z[x][f] = float32(sum)
		}
	}
	return z, nil
}

// operatorRows returns row v of S_1 … S_K, sparse. With b_1 the neighbours of v, each 1, and b_{k+1}[w] = Σ_{u~w}
// b_k[u] / d_u, the row of Ã^k is b_k[w] / √(d_v d_w); S_k leaves out its entry v. Adjacency and degrees are read a
// block at a time, so the work is at most K passes over the graph. errBall where the rows hold more than limit nodes.
func operatorRows(ctx context.Context, tx *kv.Tx, v kv.NodeID, hops, limit int) ([]map[kv.NodeID]float64, error) {
	blocks, err := tx.AdjacencyBlocks()
	if err != nil {
		return nil, err
	}
	degrees := make(map[kv.NodeID]float64)
	if err := readDegrees(ctx, tx, blocks, []kv.NodeID{v}, degrees); err != nil {
		return nil, err
	}
	var adjacency kv.Adjacency
	rows := make([]map[kv.NodeID]float64, hops)
	shares := map[kv.NodeID]float64{v: 1} // b_{k-1}[u] / d_u
	reached, held := []kv.NodeID{v}, 0    // the keys of shares, ascending: sums run in one order
	for k := range rows {
		next := make(map[kv.NodeID]float64)
		err := eachBlock(ctx, blocks, reached, func(r kv.Range, nodes []kv.NodeID) error {
			if err := tx.ReadAdjacency(r, &adjacency); err != nil {
				return err
			}
			for _, u := range nodes {
				share := shares[u]
				i := u - r.First
				for _, w := range adjacency.Neighbors[adjacency.Offsets[i]:adjacency.Offsets[i+1]] {
					next[w] += share
				}
				if held+len(next) > limit {
					return fmt.Errorf("%d hops reach more than %d nodes: %w", k+1, limit, errBall)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		held += len(next)
		reached = slices.Sorted(maps.Keys(next))
		if err := readDegrees(ctx, tx, blocks, reached, degrees); err != nil {
			return nil, err
		}
		rows[k], shares = make(map[kv.NodeID]float64, len(next)), next
		for w, b := range next {
			if w != v {
				rows[k][w] = b / math.Sqrt(degrees[v]*degrees[w])
			}
			shares[w] = b / degrees[w]
		}
	}
	return rows, nil
}

// readDegrees adds the degrees of ascending nodes to those that are known.
func readDegrees(
	ctx context.Context, tx *kv.Tx, blocks []kv.Range, nodes []kv.NodeID, known map[kv.NodeID]float64,
) error {
	unknown := make([]kv.NodeID, 0, len(nodes))
	for _, v := range nodes {
		if _, ok := known[v]; !ok {
			unknown = append(unknown, v)
		}
	}
	var degrees []uint32
	return eachBlock(ctx, blocks, unknown, func(r kv.Range, nodes []kv.NodeID) error {
		degrees = slices.Grow(degrees[:0], int(r.End-r.First))[:r.End-r.First]
		if err := tx.ReadDegrees(r, degrees); err != nil {
			return err
		}
		for _, v := range nodes {
			known[v] = float64(degrees[v-r.First])
		}
		return nil
	})
}

// eachBlock calls visit for every block that holds some of the ascending nodes, with those nodes.
func eachBlock(
	ctx context.Context, blocks []kv.Range, nodes []kv.NodeID, visit func(r kv.Range, nodes []kv.NodeID) error,
) error {
	for len(nodes) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		block := blocks[sort.Search(len(blocks), func(i int) bool { return blocks[i].End > nodes[0] })]
		inside := sort.Search(len(nodes), func(i int) bool { return nodes[i] >= block.End })
		if err := visit(block, nodes[:inside]); err != nil {
			return err
		}
		nodes = nodes[inside:]
	}
	return nil
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
