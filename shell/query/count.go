package query

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/kv"
)

var countColumn = ColumnInfo{Name: "count", Kind: kv.KindInt}

// count answers count.
func (q *query) count(ctx context.Context, s *countStatement) (*Result, error) {
	nodes, err := q.find(ctx, s.of)
	if err != nil {
		return nil, err
	}
	if s.groupBy == nil {
		n, err := nodes.count(ctx)
		r := NewTable([]ColumnInfo{countColumn}, [][]kv.Value{{kv.IntValue(n)}})
		r.cost = cost(nodes.plan)
		return r, err
	}
	by, err := q.property(*s.groupBy)
	if err != nil {
		return nil, err
	}
	g := newGroups(q.MemoryBudget)
	if err := q.countBy(ctx, g, nodes, by); err != nil {
		return nil, errors.Join(err, g.close())
	}
	if err := g.order(ctx); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return &Result{columns: []ColumnInfo{by, countColumn}, rows: g.rows(ctx), release: g.release, cost: cost(nodes.plan)}, nil
}

// count counts the nodes. Those of today are not put in order for it.
func (f *finding) count(ctx context.Context) (n int64, err error) {
	if f.past == nil {
		return f.plan.Count(ctx)
	}
	return f.walk(ctx)
}

// walk counts the nodes by finding them one by one, in order.
func (f *finding) walk(ctx context.Context) (n int64, err error) {
	for _, err := range f.nodes(ctx) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// countBy counts nodes by the value of a property.
func (q *query) countBy(ctx context.Context, g *groups, nodes *finding, by ColumnInfo) error {
	f, err := NewFetcher(q.tx, []string{by.Name}, q.Workers)
	if err != nil {
		return err
	}
	f.past = nodes.past
	for values, err := range f.rows(ctx, nodes.nodes(ctx)) {
		if err != nil {
			return err
		}
		if err := g.add(values[0]); err != nil {
			return err
		}
	}
	return nil
}
