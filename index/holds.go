package index

import "github.com/graphcleaner/graphcleaner/kv"

// A Decider reports whether a predicate is true of values that a caller has. Its argument returns the value of a
// property, stored or computed. Its errors are those of the argument. It belongs to one goroutine.
type Decider = func(value func(property string) (kv.Value, error)) (bool, error)

// Holds prepares a predicate for values that need not be those of the store. Without a transaction there are the
// computed properties alone. Errors are those of NewPlan.
func Holds(tx *kv.Tx, p Predicate, computed map[string]Computed) (Decider, error) {
	_, where, err := prepare(tx, p, nil, computed)
	if err != nil {
		return nil, err
	}
	e := newEvaluator(where, computed)
	return func(value func(string) (kv.Value, error)) (bool, error) {
		kept, err := e.keep(given(value), []kv.NodeID{0})
		return len(kept) > 0, err
	}, nil
}

// prepare checks and simplifies a predicate.
func prepare(tx *kv.Tx, p Predicate, order []Order, computed map[string]Computed) (schema, Predicate, error) {
	if err := validate(p); err != nil {
		return nil, nil, err
	}
	names := Properties(p)
	for _, o := range order {
		names = append(names, o.Property)
	}
	s, err := newSchema(tx, names, computed)
	if err != nil {
		return nil, nil, err
	}
	if err := s.check(p); err != nil {
		return nil, nil, err
	}
	where := s.simplify(p)
	return s, where, boundTerms(where)
}
