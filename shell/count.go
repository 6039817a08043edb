package shell

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// maxGroups bounds what count … group by holds in memory.
const maxGroups = 1_000_000

var countColumn = ColumnInfo{Name: "count", Kind: kv.KindInt}

// count answers count.
func (q *query) count(ctx context.Context, s *countStatement) (*Result, error) {
	plan, err := q.planOf(s.of)
	if err != nil {
		return nil, err
	}
	if s.groupBy == nil {
		n, err := plan.Count(ctx)
		r := inMemory([]ColumnInfo{countColumn}, [][]kv.Value{{kv.IntValue(n)}})
		r.cost = touched(plan)
		return r, err
	}
	by, err := q.property(*s.groupBy)
	if err != nil {
		return nil, err
	}
	counts, err := q.countBy(ctx, plan, by)
	if err != nil {
		return nil, err
	}
	rows := make([][]kv.Value, 0, len(counts))
	for value, n := range counts {
		rows = append(rows, []kv.Value{value, kv.IntValue(n)})
	}
	slices.SortFunc(rows, func(a, b []kv.Value) int {
		return cmp.Or(cmp.Compare(b[1].Int(), a[1].Int()), compareValues(a[0], b[0]))
	})
	r := inMemory([]ColumnInfo{by, countColumn}, rows)
	r.cost = touched(plan)
	return r, nil
}

// countBy counts the rows of a plan by the value of a property.
func (q *query) countBy(ctx context.Context, plan *index.Plan, by ColumnInfo) (map[kv.Value]int64, error) {
	f, err := newFetcher(q.tx, []ColumnInfo{by})
	if err != nil {
		return nil, err
	}
	counts := map[kv.Value]int64{}
	for row, err := range f.rows(ctx, plan.Rows(ctx)) {
		if err != nil {
			return nil, err
		}
		counts[row.Values[0]]++
		if len(counts) > maxGroups {
			return nil, fmt.Errorf("%s has more than %d different values: too many groups to count", by.Name, maxGroups)
		}
	}
	return counts, nil
}

// compareValues orders values of one property, null last.
func compareValues(a, b kv.Value) int {
	switch {
	case a.IsNull() || b.IsNull():
		return cmp.Compare(nullRank(a), nullRank(b))
	case a.Kind() == kv.KindString && b.Kind() == kv.KindString:
		return cmp.Compare(a.Str(), b.Str())
	case a.Kind() == kv.KindBool && b.Kind() == kv.KindBool:
		return cmp.Compare(a.String(), b.String())
	default:
		return cmp.Compare(a.Float(), b.Float())
	}
}

func nullRank(v kv.Value) int {
	if v.IsNull() {
		return 1
	}
	return 0
}
