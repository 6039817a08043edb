package query

import (
	"context"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
)

// classColumns are what is told of classes.
var classColumns = []ColumnInfo{
	{"class", kv.KindString}, {"nodes", kv.KindInt}, {"share", kv.KindFloat}, {"homophily", kv.KindFloat},
	{"self_confidence", kv.KindFloat}, {"suspects", kv.KindInt}, {"suspect_share", kv.KindFloat},
	{"estimated_rate", kv.KindFloat},
}

// classes answers classes, with a remark if homophily is too low for the method.
func (q *query) classes(ctx context.Context, asked *classesStatement) (*Result, error) {
	q.alone, q.columns = true, classColumns
	names := columnNames(classColumns)
	find, err := q.rowQuery(asked.clauses, names, names)
	if err != nil {
		return nil, err
	}
	s, err := cleaner.Statistics(ctx, q.tx)
	if err != nil {
		return nil, err
	}
	if s.NoConfidence != "" {
		q.notices = append(q.notices, "no self-confidence: "+s.NoConfidence)
	}
	if warning := s.Warning(); warning != "" {
		q.notices = append(q.notices, warning)
	}
	rows := make([][]kv.Value, 0, len(s.Classes))
	for _, i := range ClassOrder(q.tx.Classes()) {
		c := s.Classes[i]
		suspects, share := kv.Value{}, kv.Value{}
		if s.Run != 0 {
			suspects, share = kv.ValueOf(c.Suspects), ratio(c.Suspects, c.Nodes)
		}
		rows = append(rows, []kv.Value{
			kv.ValueOf(c.Class), kv.ValueOf(c.Nodes), ratio(c.Nodes, s.Labels), number(c.Homophily),
			number(c.SelfConfidence), suspects, share, number(c.MislabelRate),
		})
	}
	return NewResult(find.columns, find.answer(ctx, q.rowsOf(rows, find.read), q.MemoryBudget)), nil
}

// ratio is null of nothing.
func ratio(part, of int64) kv.Value {
	if of == 0 {
		return kv.Value{}
	}
	return kv.ValueOf(float64(part) / float64(of))
}
