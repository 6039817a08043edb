package index

import (
	"errors"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A foreignPredicate is a type of somebody else with the method of a Predicate.
type foreignPredicate struct{}

func (foreignPredicate) String() string { return "(foreign)" }

// What is no predicate is an error of NewPlan and Holds, and no panic there, nor of Properties and String.
func TestInvalidPredicates(t *testing.T) {
	s := emptyStore(t, 3)
	deep := func(levels int) Predicate {
		p := Predicate(IsNull{"title"})
		for range levels - 1 {
			p = Not{p}
		}
		return p
	}
	circle := []Predicate{nil, IsNull{"title"}}
	circle[0] = And{circle}
	view(t, s, func(tx *kv.Tx) error {
		for _, c := range []struct {
			name string
			p    Predicate
			want string // "" for none
		}{
			{"a nil term of And", And{[]Predicate{IsNull{"title"}, nil}}, "term 1 of an And is nil"},
			{"a nil term of Or", Not{Or{[]Predicate{nil}}}, "term 0 of an Or is nil"},
			{"a nil term of Not", Not{}, "term 0 of a Not is nil"},
			{"a pointer", &IsNull{"title"}, "got a *index.IsNull, want a Compare"},
			{"a pointer to And", and(&And{}), "got a *index.And, want a Compare"},
			{"a nil pointer", (*Compare)(nil), "got a *index.Compare, want a Compare"},
			{"a foreign type", or(foreignPredicate{}), "got a index.foreignPredicate, want a Compare"},
			{"an unknown comparison", Compare{"title", Op(6), text("a")}, "got op6, want Eq"},
			{"an unknown comparison of properties", CompareProperties{"title", Op(200), "label"}, "got op200, want Eq"},
			{"too many levels", deep(MaxDepth + 1), "more than 1000 nested conditions"},
			{"very many levels", deep(200_000), "more than 1000 nested conditions"},
			{"the most levels", deep(MaxDepth), ""},
			{"nothing", nil, ""},
		} {
			_, planned := NewPlan(tx, Query{Where: c.p, Limit: -1})
			_, held := Holds(tx, c.p, nil)
			for call, err := range map[string]error{"NewPlan": planned, "Holds": held} {
				if (err != nil) != (c.want != "") || err != nil &&
					(!errors.Is(err, ErrPredicate) || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%s: %s: got %v, want an ErrPredicate with %q", c.name, call, err, c.want)
				}
			}
			// nothing has no method, and a square of levels takes long
			if c.p != nil && c.name != "a nil pointer" && c.name != "very many levels" {
				_ = c.p.String()
			}
			Properties(c.p)
		}
		if _, err := NewPlan(tx, Query{Where: circle[0]}); !errors.Is(err, ErrPredicate) {
			t.Errorf("a predicate within itself: got %v, want an ErrPredicate", err)
		}
		return nil
	})
}
