package query

import (
	"context"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// agreement answers agreement: two rows for each pair of people, about verdicts and about labels.
func (q *query) agreement(ctx context.Context) (*Result, error) {
	pairs, err := decide.Agreement(ctx, q.tx)
	if err != nil {
		return nil, err
	}
	columns := []ColumnInfo{
		{"a", kv.KindString}, {"b", kv.KindString}, {"about", kv.KindString}, {"nodes", kv.KindInt}, {"same", kv.KindInt},
		{"share", kv.KindFloat},
	}
	var rows [][]kv.Value
	for _, p := range pairs {
		for _, k := range []struct {
			about string
			decide.SaidSame
		}{{"verdict", p.Verdicts}, {"label", p.Labels}} {
			rows = append(rows, []kv.Value{
				text(p.A), text(p.B), kv.ValueOf(k.about), kv.ValueOf(k.Nodes), kv.ValueOf(k.Same),
				number(float64(k.Same) / float64(k.Nodes)),
			})
		}
	}
	return NewTable(columns, rows), nil
}
