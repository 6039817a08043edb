package index

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestHoldsIsTheDefinition gives random predicates values of the model in place of the store's.
func TestHoldsIsTheDefinition(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 17))
		s, m := randomStore(t, r, 1+r.IntN(60))
		view(t, s, func(tx *kv.Tx) error {
			for range 200 {
				p := randomPredicate(r, m, 3)
				holds, err := Holds(tx, p, randomComputed(m))
				if err != nil {
					t.Fatalf("seed %d: %v: %v", seed, p, err)
				}
				for v := range m.ids {
					got, err := holds(func(property string) (kv.Value, error) { return m.value(v, property), nil })
					if want := m.holds(p, v) == isTrue; got != want || err != nil {
						t.Fatalf("seed %d: %v of node %d: got %v, %v, want %v", seed, p, v, got, err, want)
					}
				}
			}
			return nil
		})
	}
}

func TestHoldsErrors(t *testing.T) {
	s, _ := randomStore(t, rand.New(rand.NewPCG(1, 17)), 5)
	view(t, s, func(tx *kv.Tx) error {
		if _, err := Holds(tx, IsNull{Property: "yeer"}, nil); !isError[*UnknownPropertyError](err) {
			t.Errorf("unknown property: got %v, want an *UnknownPropertyError", err)
		}
		if _, err := Holds(tx, Compare{Property: "year", Op: Eq, Value: kv.StringValue("x")}, nil); !isError[*TypeError](err) {
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
