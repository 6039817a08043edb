package query

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/graphcleaner/graphcleaner/index"
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
func (q *query) neighbors(ctx context.Context, s *neighborsStatement) (*Result, error) {
	v, err := q.findNode(s.id)
	if err != nil {
		return nil, err
	}
	id, err := q.tx.ID(v)
	if err == nil {
		err = q.remarkUnpredicted(ctx, v, fmt.Sprintf("node %s has no predictions, and so no score", id))
	}
	if err != nil {
		return nil, err
	}
	hops, limit := 1, -1
	if s.hops != nil {
		if hops, err = q.hops(*s.hops); err != nil {
			return nil, err
		}
	}
	budget := q.MemoryBudget
	if budget == 0 {
		budget = defaultNeighborBytes
	}
	most := max(1, int(budget/bytesPerNeighbor))
	if s.limit != nil {
		if limit, err = q.whole(*s.limit, "a limit", most); err != nil {
			return nil, err
		}
		most = limit
	}
	levels, truncated, err := ops.Neighborhood(ctx, q.tx, v, hops, most+1) // the node itself is level 0
	if err != nil {
		return nil, err
	}
	if truncated && limit < 0 {
		return nil, fmt.Errorf("more than %d nodes within %d hops: ask for fewer hops, or for the first with limit", most, hops)
	}
	names := []string{"id", "label", "degree"}
	if _, scored := q.tx.Column("score"); scored {
		names = append(names, "suggested", "score")
	}
	columns, err := q.columns(nil, names)
	if err != nil {
		return nil, err
	}
	f, err := NewFetcher(q.tx, columnNames(columns), q.Workers)
	if err != nil {
		return nil, err
	}
	edges, err := q.edges(ctx, v, levels[1:])
	if err != nil {
		return nil, err
	}
	columns = slices.Concat([]ColumnInfo{{"hop", kv.KindInt}}, edges.columns, columns)
	return &Result{columns: columns, rows: withHops(ctx, levels[1:], edges, f)}, nil
}

// neighborEdges says what joins a node to its neighbours, beyond that something does.
type neighborEdges struct {
	columns []ColumnInfo
	values  map[kv.NodeID][]kv.Value // of the neighbours at one hop; nodes further away have nulls
}

// edges reads the directions and weights, those that the graph has, of the edges to the neighbours in levels.
func (q *query) edges(ctx context.Context, v kv.NodeID, levels [][]kv.NodeID) (neighborEdges, error) {
	var e neighborEdges
	directed, weighted := q.tx.Directed(), q.tx.Weighted()
	switch {
	case directed && weighted:
		e.columns = []ColumnInfo{{"direction", kv.KindString}, {"weight_out", kv.KindSingle}, {"weight_in", kv.KindSingle}}
	case directed:
		e.columns = []ColumnInfo{{"direction", kv.KindString}}
	case weighted:
		e.columns = []ColumnInfo{{"weight", kv.KindSingle}}
	default:
		return e, nil
	}
	if len(levels) == 0 {
		return e, nil
	}
	e.values = make(map[kv.NodeID][]kv.Value, len(levels[0]))
	seen, last := 0, levels[0][len(levels[0])-1]
	for a, err := range q.tx.Arcs(v) {
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
			values = append(values, kv.StringValue(arcDirection(a).String()))
		}
		if weighted {
			values = append(values, arcWeight(a.Out))
		}
		if directed && weighted {
			values = append(values, arcWeight(a.In))
		}
		e.values[a.Neighbor] = values
	}
	return e, nil
}

// of returns the values of a neighbour, nulls if it is none.
func (e *neighborEdges) of(v kv.NodeID) []kv.Value {
	if values, ok := e.values[v]; ok {
		return values
	}
	return make([]kv.Value, len(e.columns))
}

func arcDirection(a kv.Arc) kv.Direction {
	switch {
	case a.In == 0:
		return kv.Out
	case a.Out == 0:
		return kv.In
	}
	return kv.Both
}

// arcWeight is null if there is no arc.
func arcWeight(w float32) kv.Value {
	if w == 0 {
		return kv.Value{}
	}
	return kv.FloatValue(float64(w))
}

// withHops yields the rows of each level with the level's number and the edges before them.
func withHops(ctx context.Context, levels [][]kv.NodeID, edges neighborEdges, f *Fetcher) iter.Seq2[[]kv.Value, error] {
	return func(yield func([]kv.Value, error) bool) {
		for i, level := range levels {
			hop, next := []kv.Value{kv.IntValue(int64(i + 1))}, 0
			for values, err := range f.rows(ctx, index.Each(level)) {
				if err != nil {
					yield(nil, err)
					return
				}
				if !yield(slices.Concat(hop, edges.of(level[next]), values), nil) {
					return
				}
				next++
			}
		}
	}
}
