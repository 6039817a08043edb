package shell

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// maxGroups bounds what count … group by holds in memory.
const maxGroups = 1_000_000

var countColumn = ColumnInfo{Name: "count", Kind: kv.KindInt}

// count answers count.
func (q *query) count(ctx context.Context, s *countStatement) (*Result, error) {
	found, err := q.find(ctx, s.of)
	if err != nil {
		return nil, err
	}
	if s.groupBy == nil {
		n, err := found.count(ctx)
		r := inMemory([]ColumnInfo{countColumn}, [][]kv.Value{{kv.IntValue(n)}})
		r.cost = touched(found.plan)
		return r, err
	}
	by, err := q.property(*s.groupBy)
	if err != nil {
		return nil, err
	}
	counts, err := q.countBy(ctx, found, by)
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
	r.cost = touched(found.plan)
	return r, nil
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
func (q *query) countBy(ctx context.Context, found *finding, by ColumnInfo) (map[kv.Value]int64, error) {
	f, err := newFetcher(q.tx, []ColumnInfo{by}, q.engine.workers)
	if err != nil {
		return nil, err
	}
	f.past = found.past
	counts := map[kv.Value]int64{}
	for row, err := range f.rows(ctx, found.nodes(ctx)) {
		if err != nil {
			return nil, err
		}
		value := row.Values[0]
		if value.Kind() == kv.KindFloat && value.Float() == 0 {
			value = kv.FloatValue(0) // minus zero is equal to it
		}
		counts[value]++
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
	case a.Kind() == kv.KindInt && b.Kind() == kv.KindInt:
		return cmp.Compare(a.Int(), b.Int())
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
