package ops

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/graphcleaner/graphcleaner/kv"
)

// OperatorRows returns row v of S_1 … S_K along a direction, sparse. With b_1[w] = A_vw, and b_{k+1}[w] = Σ_u b_k[u] A_uw
// / √(r_u c_u), where r and c are the sums of the rows and columns of A, the row of Ã^k is b_k[w] / √(r_v c_w); S_k
// leaves out its entry v. Adjacency is read a block at a time, in at most 2K passes over the graph. If the rows hold more
// than limit nodes, the error is ErrReach.
func OperatorRows(
	ctx context.Context, tx *kv.Tx, direction kv.Direction, v kv.NodeID, hops, limit int,
) ([]map[kv.NodeID]float64, error) {
	blocks, err := tx.AdjacencyBlocks()
	if err != nil {
		return nil, err
	}
	graph := tx.Along(direction)
	sums := knownStrengths{blocks: blocks, tx: tx, rows: graph, columns: graph.Reverse(), strengths: map[kv.NodeID]sides{}}
	if err := sums.read(ctx, []kv.NodeID{v}); err != nil {
		return nil, err
	}
	var adjacency kv.Adjacency
	rows := make([]map[kv.NodeID]float64, hops)
	shares := map[kv.NodeID]float64{v: 1} // b_{k-1}[u] / √(r_u c_u)
	sources, entries := []kv.NodeID{v}, 0 // the keys of shares, ascending: sums run in one order
	for k := range rows {
		next := make(map[kv.NodeID]float64)
		err := eachBlock(ctx, blocks, sources, func(r kv.Range, nodes []kv.NodeID) error {
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
				if entries+len(next) > limit {
					return fmt.Errorf("%d hops reach more than %d nodes: %w", k+1, limit, ErrReach)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		entries += len(next)
		sources = slices.Sorted(maps.Keys(next))
		if err := sums.read(ctx, sources); err != nil {
			return nil, err
		}
		rows[k], shares = make(map[kv.NodeID]float64, len(next)), next
		for w, b := range next {
			at := sums.strengths[w]
			if w != v {
				rows[k][w] = b / math.Sqrt(sums.strengths[v].row*at.column)
			}
			shares[w] = b / math.Sqrt(at.row*at.column) // where no arc leads on, nothing is made of it
		}
	}
	return rows, nil
}

// sides are the sums of a node's row and column of A.
type sides struct{ row, column float64 }

// knownStrengths reads the strengths of nodes as they are asked for.
type knownStrengths struct {
	blocks        []kv.Range
	tx            *kv.Tx
	rows, columns *kv.Oriented
	strengths     map[kv.NodeID]sides
	degrees       []uint32
	adjacency     kv.Adjacency
}

// read adds the strengths of ascending nodes to the known ones.
func (s *knownStrengths) read(ctx context.Context, nodes []kv.NodeID) error {
	unknown := make([]kv.NodeID, 0, len(nodes))
	for _, v := range nodes {
		if _, ok := s.strengths[v]; !ok {
			unknown = append(unknown, v)
		}
	}
	return eachBlock(ctx, s.blocks, unknown, func(r kv.Range, nodes []kv.NodeID) error {
		if s.rows.Symmetric() && !s.rows.Weighted() {
			return s.readDegrees(r, nodes)
		}
		if err := s.add(s.rows, r, nodes, func(at *sides, sum float64) { at.row = sum }); err != nil {
			return err
		}
		return s.add(s.columns, r, nodes, func(at *sides, sum float64) { at.column = sum })
	})
}

// readDegrees reads the degrees of a simple graph, which cost less than its lists.
func (s *knownStrengths) readDegrees(r kv.Range, nodes []kv.NodeID) error {
	s.degrees = slices.Grow(s.degrees[:0], r.Len())[:r.Len()]
	if err := s.tx.ReadDegrees(r, s.degrees); err != nil {
		return err
	}
	for _, v := range nodes {
		degree := float64(s.degrees[v-r.First])
		s.strengths[v] = sides{degree, degree}
	}
	return nil
}

// add sums the lists of nodes in a block along a direction.
func (s *knownStrengths) add(
	graph *kv.Oriented, r kv.Range, nodes []kv.NodeID, set func(at *sides, sum float64),
) error {
	if err := graph.ReadAdjacency(r, &s.adjacency); err != nil {
		return err
	}
	for _, v := range nodes {
		at := s.strengths[v]
		set(&at, strength(s.adjacency.Of(v), weightsOf(&s.adjacency, int(v-r.First))))
		s.strengths[v] = at
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
