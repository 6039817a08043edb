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

// surround computes the surrounding of one node with a given label, or kv.NoClass, from the rows of the node in S_1 … S_K
// alone: no propagation of the whole graph. errBall where the K-hop ball does not fit opt.MemoryBudget.
func surround(
	ctx context.Context, tx *kv.Tx, direction kv.Direction, v kv.NodeID, given kv.Class, predictions ops.Source, hops int,
	opt ops.Options,
) (*surrounding, error) {
	budget := opt.MemoryBudget
	if budget == 0 {
		budget = kv.DefaultMemoryBudget()
	}
	rows, err := operatorRows(ctx, tx, direction, v, hops, int(budget/ballNodeBytes))
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

// operatorRows returns row v of S_1 … S_K along a direction, sparse. With b_1[w] = A_vw, and b_{k+1}[w] = Σ_u b_k[u] A_uw /
// √(r_u c_u), where r and c are the sums of the rows and columns of A, the row of Ã^k is b_k[w] / √(r_v c_w); S_k leaves
// out its entry v. Adjacency is read a block at a time, so the work is at most K passes over the graph, twice. errBall
// where the rows hold more than limit nodes.
func operatorRows(
	ctx context.Context, tx *kv.Tx, direction kv.Direction, v kv.NodeID, hops, limit int,
) ([]map[kv.NodeID]float64, error) {
	blocks, err := tx.AdjacencyBlocks()
	if err != nil {
		return nil, err
	}
	graph := tx.Along(direction)
	sums := strengths{blocks: blocks, tx: tx, rows: graph, columns: graph.Reverse(), known: map[kv.NodeID]strength{}}
	if err := sums.read(ctx, []kv.NodeID{v}); err != nil {
		return nil, err
	}
	var adjacency kv.Adjacency
	rows := make([]map[kv.NodeID]float64, hops)
	shares := map[kv.NodeID]float64{v: 1} // b_{k-1}[u] / √(r_u c_u)
	reached, held := []kv.NodeID{v}, 0    // the keys of shares, ascending: sums run in one order
	for k := range rows {
		next := make(map[kv.NodeID]float64)
		err := eachBlock(ctx, blocks, reached, func(r kv.Range, nodes []kv.NodeID) error {
			if err := graph.ReadAdjacency(r, &adjacency); err != nil {
				return err
			}
			for _, u := range nodes {
				share := shares[u]
				i := u - r.First
				for at := adjacency.Offsets[i]; at < adjacency.Offsets[i+1]; at++ {
					w, b := adjacency.Neighbors[at], share
					if adjacency.Weights != nil {
						b *= float64(adjacency.Weights[at])
					}
					next[w] += b
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
		if err := sums.read(ctx, reached); err != nil {
			return nil, err
		}
		rows[k], shares = make(map[kv.NodeID]float64, len(next)), next
		for w, b := range next {
			at := sums.known[w]
			if w != v {
				rows[k][w] = b / math.Sqrt(sums.known[v].row*at.column)
			}
			shares[w] = b / math.Sqrt(at.row*at.column) // where no arc leads on, nothing is made of it
		}
	}
	return rows, nil
}

// A strength is the sums of a node's row and column of A.
type strength struct{ row, column float64 }

// strengths reads the strengths of nodes as they are asked for.
type strengths struct {
	blocks        []kv.Range
	tx            *kv.Tx
	rows, columns *kv.Oriented
	known         map[kv.NodeID]strength
	degrees       []uint32
	adjacency     kv.Adjacency
}

// read adds the strengths of ascending nodes to those that are known.
func (s *strengths) read(ctx context.Context, nodes []kv.NodeID) error {
	unknown := make([]kv.NodeID, 0, len(nodes))
	for _, v := range nodes {
		if _, ok := s.known[v]; !ok {
			unknown = append(unknown, v)
		}
	}
	return eachBlock(ctx, s.blocks, unknown, func(r kv.Range, nodes []kv.NodeID) error {
		if s.rows.Symmetric() && !s.rows.Weighted() {
			return s.readDegrees(r, nodes)
		}
		if err := s.add(s.rows, r, nodes, func(at *strength, sum float64) { at.row = sum }); err != nil {
			return err
		}
		return s.add(s.columns, r, nodes, func(at *strength, sum float64) { at.column = sum })
	})
}

// readDegrees reads the degrees of a simple graph, which cost less than its lists.
func (s *strengths) readDegrees(r kv.Range, nodes []kv.NodeID) error {
	s.degrees = slices.Grow(s.degrees[:0], r.Len())[:r.Len()]
	if err := s.tx.ReadDegrees(r, s.degrees); err != nil {
		return err
	}
	for _, v := range nodes {
		degree := float64(s.degrees[v-r.First])
		s.known[v] = strength{degree, degree}
	}
	return nil
}

// add sums the lists of nodes in a block along a direction.
func (s *strengths) add(
	graph *kv.Oriented, r kv.Range, nodes []kv.NodeID, set func(at *strength, sum float64),
) error {
	if err := graph.ReadAdjacency(r, &s.adjacency); err != nil {
		return err
	}
	for _, v := range nodes {
		from, to := s.adjacency.Offsets[v-r.First], s.adjacency.Offsets[v-r.First+1]
		sum := float64(to - from)
		if s.adjacency.Weights != nil {
			sum = 0
			for _, w := range s.adjacency.Weights[from:to] {
				sum += float64(w)
			}
		}
		at := s.known[v]
		set(&at, sum)
		s.known[v] = at
	}
	return nil
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
