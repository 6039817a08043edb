package shell

import (
	"context"
	"fmt"
	"iter"

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
	hops, wanted := 1, -1
	if s.hops != nil {
		if hops, err = q.hops(*s.hops); err != nil {
			return nil, err
		}
	}
	budget := q.engine.memory
	if budget == 0 {
		budget = defaultNeighborBytes
	}
	most := max(1, int(budget/bytesPerNeighbor))
	if s.limit != nil {
		if wanted, err = q.whole(*s.limit, "a limit", most); err != nil {
			return nil, err
		}
		most = wanted
	}
	levels, truncated, err := ops.Neighborhood(ctx, q.tx, v, hops, most+1) // the node itself is level 0
	if err != nil {
		return nil, err
	}
	if truncated && wanted < 0 {
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
	f, err := newFetcher(q.tx, columns)
	if err != nil {
		return nil, err
	}
	columns = append([]ColumnInfo{{"hop", kv.KindInt}}, columns...)
	return &Result{columns: columns, rows: withHops(ctx, columns, levels[1:], f)}, nil
}

// withHops yields the rows of each level with the level's number before them.
func withHops(
	ctx context.Context, columns []ColumnInfo, levels [][]kv.NodeID, f *fetcher,
) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for i, level := range levels {
			hop := kv.IntValue(int64(i + 1))
			for row, err := range f.rows(ctx, each(level)) {
				if err != nil {
					yield(Row{}, err)
					return
				}
				if !yield(Row{Values: append([]kv.Value{hop}, row.Values...), columns: columns}, nil) {
					return
				}
			}
		}
	}
}

// each yields nodes that are known already.
func each(nodes []kv.NodeID) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		for _, v := range nodes {
			if !yield(v, nil) {
				return
			}
		}
	}
}
