package index

import (
	"errors"
	"fmt"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Equalities of one property become one In, however many they are and whatever stands between them, and what an And
// takes out of it is gone. Simplifying compares values about n·log n times: the number of terms here makes a square of
// it minutes.
func TestManyTerms(t *testing.T) {
	const n = 20_000
	var equal, unequal, pairs []Predicate
	for i := range int64(n) {
		equal = append(equal, year(Eq, n-i))
		unequal = append(unequal, year(Ne, i))
		pairs = append(pairs, year(Eq, i), label(Eq, fmt.Sprint(i)))
	}
	in := In{"year", nil}
	for i := range int64(n) {
		in.Values = append(in.Values, kv.ValueOf(i))
	}
	for _, c := range []struct {
		name string
		p    Predicate
		want []int // the values of each In of the outcome; nil for false
	}{
		{"equalities", or(equal...), []int{n}},
		{"equalities between others", or(pairs...), []int{n, n}},
		{"inequalities", not(and(unequal...)), []int{n}},
		{"equalities and inequalities", and(or(equal...), and(unequal...)), nil}, // but n, which is one value
		{"two lists", and(in, not(In{"year", in.Values[:n/2]})), []int{n / 2}},
		{"two lists that both hold", and(in, or(equal...)), []int{n - 1}},
	} {
		p := testSchema.simplify(c.p)
		var got []int
		walk(p, func(leaf Predicate) {
			if in, ok := leaf.(In); ok {
				got = append(got, len(in.Values))
			}
		})
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: got lists of %v values, want %v", c.name, got, c.want)
		}
	}
}

// Conditions that no list joins are bounded, as each is looked at for every node.
func TestTooManyTerms(t *testing.T) {
	s := emptyStore(t, 3)
	var likes, pairs []Predicate
	for i := range maxTerms + 1 {
		likes = append(likes, Like{Property: "title", Pattern: fmt.Sprint("a%", i)})
		pairs = append(pairs, or(Compare{"id", Eq, text(fmt.Sprint(i))}, Compare{"title", Eq, text("a")}))
	}
	view(t, s, func(tx *kv.Tx) error {
		for _, c := range []struct {
			name   string
			p      Predicate
			refuse bool
		}{
			{"one too many", or(likes...), true},
			{"the most", or(likes[1:]...), false},
			{"the most of an And", and(likes[1:]...), false},
			{"an And of many Ors", and(pairs[:maxTerms/2]...), false},
			{"an And of too many Ors", and(pairs...), true},
		} {
			_, planned := NewPlan(tx, Query{Where: c.p, Limit: -1})
			_, held := Holds(tx, c.p, nil)
			for call, err := range map[string]error{"NewPlan": planned, "Holds": held} {
				if got := errors.Is(err, ErrPredicate); got != c.refuse || err != nil && !c.refuse {
					t.Errorf("%s: %s: got %v, want an ErrPredicate: %v", c.name, call, err, c.refuse)
				}
			}
		}
		return nil
	})
}
