package query

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/kv"
)

// rowsOf are the values that answer a statement.
func (s *drawnStore) rowsOf(t *testing.T, text string, args ...any) [][]kv.Value {
	t.Helper()
	rows, err := answer(t, s.Store, text, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return rows
}

// TestHistoryEqualsAFullScan asks for parts of a history, in orders and in groups, and compares them with the whole.
func TestHistoryEqualsAFullScan(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 42))
	s := drawStore(t, r, 60)
	for range 4 {
		s.change(t, r)
	}
	all := s.rowsOf(t, "history")
	if len(all) < 50 {
		t.Fatalf("the history has %d entries: the test misses its point", len(all))
	}
	for range longtest.Of(100, 3000) {
		column, value := r.IntN(len(historyColumns)), kv.Value{}
		for value.IsNull() {
			column = r.IntN(len(historyColumns))
			value = all[r.IntN(len(all))][column]
		}
		operator := []string{"=", "!=", "<", "<=", ">", ">="}[r.IntN(6)]
		if name := historyColumns[column]; name == "id" && value.Kind() == kv.KindString || name == "disputed" {
			operator = "="
		}
		by, down := r.IntN(len(historyColumns)), r.IntN(2) == 0
		want, groups := [][]kv.Value(nil), map[string]int64{}
		for _, row := range all {
			if meets(row[column], operator, value) == 1 {
				want = append(want, row)
				groups[groupText(row[by])]++
			}
		}
		where := fmt.Sprintf(" where %s %s $1", historyColumns[column], operator)
		for _, group := range s.rowsOf(t, "count history"+where+" group by "+historyColumns[by], value) {
			if got := group[1].Int(); got != groups[groupText(group[0])] {
				t.Fatalf("%s with %v by %s: got %v, want %v", where, value, historyColumns[by], group, groups)
			}
			delete(groups, groupText(group[0]))
		}
		if len(groups) > 0 {
			t.Fatalf("%s with %v by %s: %v are missing", where, value, historyColumns[by], groups)
		}
		slices.SortStableFunc(want, func(a, b []kv.Value) int { return orderedBy(a[by], b[by], down) })
		limit := r.IntN(20)
		text := fmt.Sprintf("history%s limit %d order by %s%s", where, limit, historyColumns[by],
			[]string{"", " desc"}[int(truth(down))])
		got := s.rowsOf(t, text, value)
		if !slices.EqualFunc(got, want[:min(limit, len(want))], slices.Equal) {
			t.Fatalf("%s with %v: got %v, want %v", text, value, got, want)
		}
	}
}
