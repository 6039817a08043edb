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
	leastRowBytes    = 1 << 20 // whatever the budget
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
	q.columns = append([]ColumnInfo{{"hop", kv.KindInt}}, columnsOf(edgeFields(q.tx.Shape(), kv.Arc{}))...)
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
		return nil, tooMany(int64(most), hops)
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
					copy(row[1:], valuesOf(edgeFields(q.tx.Shape(), edges[next])))
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

// tooMany is the error of a node with more nodes around it than memory holds.
func tooMany(most int64, hops int) error {
	return fmt.Errorf("more than %d nodes within %d hops: ask for fewer hops, or give more --memory", most, hops)
}

// edgeFields are the properties that the graph has of an edge to a neighbour.
func edgeFields(shape kv.Shape, a kv.Arc) (fields []field) {
	if shape.Directed {
		fields = append(fields, field{"direction", kv.KindString, kv.ValueOf(arcDirection(a))})
	}
	switch {
	case shape.Directed && shape.Weighted:
		return append(fields, field{"weight_out", kv.KindSingle, arcWeight(a.Out)},
			field{"weight_in", kv.KindSingle, arcWeight(a.In)})
	case shape.Weighted:
		return append(fields, field{"weight", kv.KindSingle, arcWeight(a.Out)})
	}
	return fields
}

// edges reads the edges to the neighbours in levels[1], which are the first ones, if they have edgeFields.
func (q *query) edges(ctx context.Context, v kv.NodeID, levels [][]kv.NodeID) (edges []kv.Arc, err error) {
	shape := q.tx.Shape()
	if len(levels) == 1 || !shape.Directed && !shape.Weighted {
		return nil, nil
	}
	edges = make([]kv.Arc, 0, len(levels[1]))
	for a, err := range first(q.tx.Undirected().Arcs(v), cap(edges)) {
		if err == nil && len(edges)%checkEvery == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		edges = append(edges, a)
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
