package index

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Holds prepares a predicate for values that need not be those of the store. It returns a function that reports whether the
// predicate is true of a node. Its argument value returns the value of a property, stored or computed. Errors are those of NewPlan and of
// value.
func Holds(tx *kv.Tx, p Predicate, computed map[string]Computed) (func(value func(property string) (kv.Value, error)) (bool, error), error) {
	return holdsIn(p, func(names []string) (schema, error) { return newSchema(tx, names, computed) })
}

// HoldsOf is Holds for rows that are not nodes: columns are what they have. A predicate that names another property is an
// *UnknownPropertyError.
func HoldsOf(columns []kv.Column, p Predicate) (func(value func(property string) (kv.Value, error)) (bool, error), error) {
	return holdsIn(p, func(names []string) (schema, error) {
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

func holdsIn(p Predicate, lookUp func(names []string) (schema, error)) (func(value func(property string) (kv.Value, error)) (bool, error), error) {
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
	holds := prepare(where)
	return func(value func(string) (kv.Value, error)) (bool, error) {
		outcome, err := holds(value)
		return outcome == isTrue, err
	}, nil
}

// prepare makes the evaluation of a simplified predicate.
func prepare(p Predicate) func(value func(property string) (kv.Value, error)) (truth, error) {
	switch p := p.(type) {
	case And:
		return prepareAll(p.Terms, isFalse)
	case Or:
		return prepareAll(p.Terms, isTrue)
	case CompareProperties:
		return preparePair(p)
	}
	name, holds := leafProperty(p), newTest(p)
	return func(value func(string) (kv.Value, error)) (truth, error) {
		v, err := value(name)
		if err != nil {
			return isUnknown, fmt.Errorf("property %s: %w", name, err)
		}
		return holds(v), nil
	}
}

// prepareAll makes the evaluation of terms in turn until one decides: isFalse for And, isTrue for Or.
func prepareAll(terms []Predicate, decides truth) func(value func(property string) (kv.Value, error)) (truth, error) {
	parts := make([]func(func(string) (kv.Value, error)) (truth, error), len(terms))
	for i, term := range terms {
		parts[i] = prepare(term)
	}
	return func(value func(string) (kv.Value, error)) (truth, error) {
		outcome := -decides
		for _, part := range parts {
			t, err := part(value)
			if err != nil || t == decides {
				return t, err
			}
			if t == isUnknown {
				outcome = isUnknown
			}
		}
		return outcome, nil
	}
}
