package index

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestErrorsOfHolds has properties and constants that are wrong, and a value that cannot be read.
func TestErrorsOfHolds(t *testing.T) {
	s, _ := randomStore(t, rand.New(rand.NewPCG(1, 17)), 5)
	view(t, s, func(tx *kv.Tx) error {
		for _, q := range []Query{{Where: not(IsNull{"yeer"})}, {Order: []Order{{"yeer", true}}}} {
			_, planned := NewPlan(tx, q)
			_, held := Holds(tx, not(IsNull{"yeer"}), nil)
			for _, err := range []error{planned, held} {
				if !isError[*UnknownPropertyError](err) || err.Error() != `no property is named "yeer"` {
					t.Errorf("unknown property: got %v, want an *UnknownPropertyError", err)
				}
			}
		}
		if _, err := Holds(tx, Compare{"year", Eq, text("x")}, nil); !isError[*TypeError](err) {
			t.Errorf("a string for an integer: got %v, want a *TypeError", err)
		}
		broken := errors.New("block 7 is corrupt")
		holds := must.Get(Holds(tx, And{Terms: []Predicate{IsNull{Property: "year"}, IsNull{Property: "title"}}}, nil))(t)
		if _, err := holds(func(string) (kv.Value, error) { return kv.Value{}, broken }); !errors.Is(err, broken) {
			t.Errorf("a value that cannot be read: got %v, want %v", err, broken)
		}
		return nil
	})
}

func isError[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
