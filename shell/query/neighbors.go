package query

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A neighbourhood is held in memory, at about so many bytes a node, within a budget that is the following where
// none was set.
const (
	bytesPerNeighbor     = 64
	defaultNeighborBytes = 256 << 20
)

// neighbors answers neighbors: the nodes within some hops, the nearest first.
func (q *query) neighbors(ctx context.Context, s *Statement) (*Result, error) {
	v, err := q.findNode(s.ids[0])
	if err != nil {
		return nil, err
	}
	hops, err := q.hops(s.hops, 1)
	if err != nil {
		return nil, err
	}
	q.columns = append([]ColumnInfo{{"hop", kv.KindInt}}, edgeColumns(q.tx)...)
	names := append(columnNames(q.columns), "id", "label", "degree")
	if _, scored := q.tx.Column("score"); scored {
		names = append(names, "suggested", "score")
	}
	all := columnNames(q.columns)
	for _, name := range q.heldNames() {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	find, err := q.rowQuery(s.clauses, names, all)
	if err != nil {
		return nil, err
	}
	budget := q.MemoryBudget
	if budget == 0 {
		budget = defaultNeighborBytes
	}
	if len(q.computed) > 0 { // which takes the rest
		budget /= 4
	}
	most := max(1, int(budget/bytesPerNeighbor))
	limited := find.find.Limit >= 0 && find.find.Limit <= most && find.holds == nil && len(find.find.Order) == 0
	if limited { // the first that are met are the answer
		most = find.find.Limit
	}
	levels, truncated, err := ops.Neighborhood(ctx, q.tx, v, hops, most+1) // the node itself is level 0
	if err != nil {
		return nil, err
	}
	if truncated && !limited {
		return nil, fmt.Errorf("more than %d nodes within %d hops: ask for fewer hops, or give more --memory", most, hops)
	}
	edges, err := q.edges(ctx, v, levels[1:])
	if err != nil {
		return nil, err
	}
	rows, err := q.neighborRows(ctx, levels[1:], edges, find.read)
	if err != nil {
		return nil, err
	}
	return find.answer(find.read, rows, q.MemoryBudget), nil
}

// edgeColumns are the properties that the graph has of edges to neighbours.
func edgeColumns(tx *kv.Tx) []ColumnInfo {
	switch directed, weighted := tx.Shape().Directed, tx.Shape().Weighted; {
	case directed && weighted:
		return []ColumnInfo{{"direction", kv.KindString}, {"weight_out", kv.KindSingle}, {"weight_in", kv.KindSingle}}
	case directed:
		return []ColumnInfo{{"direction", kv.KindString}}
	case weighted:
		return []ColumnInfo{{"weight", kv.KindSingle}}
	default:
		return nil
	}
}

// neighborEdges has the values of edgeColumns of the neighbours at one hop; nodes further away have nulls.
type neighborEdges map[kv.NodeID][]kv.Value

// edges reads the directions and weights, those that the graph has, of the edges to the neighbours in levels.
func (q *query) edges(ctx context.Context, v kv.NodeID, levels [][]kv.NodeID) (neighborEdges, error) {
	directed, weighted := q.tx.Shape().Directed, q.tx.Shape().Weighted
	if len(levels) == 0 || !directed && !weighted {
		return nil, nil
	}
	e := make(neighborEdges, len(levels[0]))
	seen, last := 0, levels[0][len(levels[0])-1]
	for a, err := range q.tx.Undirected().Arcs(v) {
		if err != nil {
			return e, err
		}
		if seen++; seen%checkEvery == 0 && ctx.Err() != nil {
			return e, ctx.Err()
		}
		if a.Neighbor > last { // a limit left the others out
			break
		}
		var values []kv.Value
		if directed {
			values = append(values, kv.ValueOf(arcDirection(a)))
		}
		if weighted {
			values = append(values, arcWeight(a.Out))
		}
		if directed && weighted {
			values = append(values, arcWeight(a.In))
		}
		e[a.Neighbor] = values
	}
	return e, nil
}

func arcDirection(a kv.Arc) string {
	switch {
	case a.In == 0:
		return "out"
	case a.Out == 0:
		return "in"
	}
	return "both"
}

// arcWeight is null if there is no arc.
func arcWeight(w float32) kv.Value {
	if w == 0 {
		return kv.Value{}
	}
	return kv.ValueOf(float64(w))
}

// neighborRows yields the values in columns of the nodes of each level.
func (q *query) neighborRows(ctx context.Context, levels [][]kv.NodeID, edges neighborEdges, columns []ColumnInfo) (iter.Seq2[[]kv.Value, error], error) {
	var names []string                  // properties of the nodes
	places := make([]int, len(columns)) // of the edge columns from 0 on, the hop −1
	for i, c := range columns {
		if places[i] = slices.Index(q.columns, c) - 1; places[i] < -1 {
			names = append(names, c.Name)
		}
	}
	f, err := q.fetcher(names)
	if err != nil {
		return nil, err
	}
	return func(yield func([]kv.Value, error) bool) {
		for i, level := range levels {
			next := 0
			for values, err := range f.rows(ctx, eachNode(level)) {
				if err != nil {
					yield(nil, err)
					return
				}
				row, of := make([]kv.Value, len(columns)), edges[level[next]]
				for c, place := range places {
					switch {
					case place == -1:
						row[c] = kv.ValueOf(int64(i + 1))
					case place < -1:
						row[c], values = values[0], values[1:]
					case of != nil:
						row[c] = of[place]
					}
				}
				if !yield(row, nil) {
					return
				}
				next++
			}
		}
	}, nil
}
