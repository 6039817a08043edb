package index

import (
	"errors"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// An id that is no integer turns all ids into text. From then on a condition that orders ids among numbers is an error,
// and never silently another condition; those that do not speak of order mean the same as before.
func TestOrderOfIDsWhenTheyTurnIntoText(t *testing.T) {
	s := must.Get(kv.Create(t.TempDir()+"/store", kv.Options{MemoryBudget: 64 << 20, OnWrite: Maintain}))(t)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	add := func(ids ...string) {
		update(t, s, func(tx *kv.Tx) error {
			for _, id := range ids {
				if _, err := tx.AddNode(kv.Node{ID: id}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	check := func(p Predicate, want int64, refusal string) {
		t.Helper()
		view(t, s, func(tx *kv.Tx) error {
			plan, err := NewPlan(tx, Query{Where: p, Limit: -1})
			_, held := Holds(tx, p, nil)
			if refusal != "" {
				for _, err := range []error{err, held} {
					if wrong, ok := errors.AsType[*TypeError](err); !ok || wrong.Property != "id" || !strings.Contains(err.Error(),
						refusal) {
						t.Errorf("%v: got %v, want a *TypeError with %q", p, err, refusal)
					}
				}
				return nil
			}
			must.Do(t, err)
			got, err := plan.Count(t.Context())
			if got != want {
				t.Errorf("%v: got %d nodes, want %d", p, got, want)
			}
			return err
		})
	}
	id := func(op Op, c kv.Value) Predicate { return Compare{"id", op, c} }
	const isText, areIntegers = "text has no order among numbers: got the number ",
		"text has no order among them: got the string "

	add("5", "40", "100", "200")
	check(id(Ge, kv.ValueOf(100)), 2, "")
	check(id(Lt, kv.ValueOf(50)), 2, "")
	check(not(id(Ge, kv.ValueOf(100))), 2, "")
	check(id(Ge, text("100")), 0, areIntegers)
	check(id(Eq, text("100")), 1, "")
	check(In{"id", []kv.Value{kv.ValueOf(5), text("40")}}, 2, "")
	check(Like{Property: "id", Pattern: "%00"}, 2, "")

	add("n/a")
	for _, op := range []Op{Lt, Le, Gt, Ge} {
		check(id(op, kv.ValueOf(100)), 0, isText+"100, which compares as text in quotes: '100'")
		check(not(id(op, number(99.5))), 0, isText+"99.5, which compares as text in quotes: '99.5'")
	}
	check(id(Ge, text("100")), 5, "") // as text
	check(id(Eq, text("100")), 1, "")
	check(id(Eq, kv.ValueOf(100)), 1, "")
	check(id(Ne, kv.ValueOf(100)), 4, "")
	check(In{"id", []kv.Value{kv.ValueOf(5), text("40")}}, 2, "")
	check(Like{Property: "id", Pattern: "%00"}, 2, "")
}
