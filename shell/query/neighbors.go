package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A neighbourhood is held in memory, at about so many bytes a node. So are rows that are put in order. Where no budget
// was set, it is the following.
const (
	bytesPerNeighbor = 64
	defaultRowBytes  = 256 << 20
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
	budget := cmp.Or(q.MemoryBudget, defaultRowBytes)
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
	edges, err := q.edges(ctx, v, levels)
	if err != nil {
		return nil, err
	}
	columns := slices.DeleteFunc(slices.Clone(find.read), func(c ColumnInfo) bool { return slices.Contains(q.columns, c) })
	f, err := q.fetcher(columnNames(columns))
	if err != nil {
		return nil, err
	}
	rows := func(yield func([]kv.Value, error) bool) {
		for hop := 1; hop < len(levels); hop++ {
			next := 0
			for values, err := range f.rows(ctx, eachOf(levels[hop])) {
				row := make([]kv.Value, len(q.columns))
				if row[0] = kv.ValueOf(hop); hop == 1 && edges != nil {
					copy(row[1:], edges[next])
					next++
				}
				if !yield(append(row, values...), err) || err != nil {
					return
				}
			}
		}
	}
	return find.answer(slices.Concat(q.columns, columns), rows, q.MemoryBudget), nil
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

// edges reads the values of edgeColumns, if there are any, of the neighbours in levels[1]: these are the first ones.
func (q *query) edges(ctx context.Context, v kv.NodeID, levels [][]kv.NodeID) (edges [][]kv.Value, err error) {
	directed, weighted := q.tx.Shape().Directed, q.tx.Shape().Weighted
	if len(levels) == 1 || !directed && !weighted {
		return nil, nil
	}
	edges = make([][]kv.Value, len(levels[1]))
	next := 0
	for a, err := range q.tx.Undirected().Arcs(v) {
		if next == len(edges) {
			break
		}
		if err == nil && next%checkEvery == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
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
		edges[next] = values
		next++
	}
	return edges, nil
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
