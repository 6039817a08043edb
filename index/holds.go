package index

import "github.com/graphcleaner/graphcleaner/kv"

// A Decider reports whether a predicate is true of values that a caller has. Its argument returns the value of a
// property, stored or computed. Its errors are those of the argument. It belongs to one goroutine.
type Decider = func(value func(property string) (kv.Value, error)) (bool, error)

// Holds prepares a predicate for values that need not be those of the store. Errors are those of NewPlan.
func Holds(tx *kv.Tx, p Predicate, computed map[string]Computed) (Decider, error) {
	return holdsIn(p, computed, func(names []string) (schema, error) { return newSchema(tx, names, computed) })
}

// HoldsOf is Holds for rows that are not nodes: columns are what they have. A predicate that names another property is
// an
// *UnknownPropertyError.
func HoldsOf(columns []kv.Column, p Predicate) (Decider, error) {
	return holdsIn(p, nil, func(names []string) (schema, error) {
		s := schema{}
		for _, c := range columns {
			s[c.Name] = property{name: c.Name, kind: valueKind(c.Kind)}
		}
		for _, name := range names {
			if _, ok := s[name]; !ok {
				return nil, &UnknownPropertyError{Property: name}
			}
		}
		return s, nil
	})
}

func holdsIn(
	p Predicate, computed map[string]Computed, lookUp func(names []string) (schema, error),
) (Decider, error) {
	if err := validate(p); err != nil {
		return nil, err
	}
	s, err := lookUp(Properties(p))
	if err != nil {
		return nil, err
	}
	if err := s.check(p); err != nil {
		return nil, err
	}
	where := s.simplify(p)
	if err := boundTerms(where); err != nil {
		return nil, err
	}
	e := newEvaluator(where, computed)
	return func(value func(string) (kv.Value, error)) (bool, error) {
		kept, err := e.keep(given(value), []kv.NodeID{0})
		return len(kept) > 0, err
	}, nil
}
