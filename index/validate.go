package index

import (
	"errors"
	"fmt"
)

// ErrPredicate is returned for an invalid predicate: a nil term, a pointer or a type of another package, an unknown Op,
// more than MaxDepth levels, or too many conditions. A list is one condition.
var ErrPredicate = errors.New("invalid condition")

// maxTerms is the most conditions on a property that a simplified predicate has: each is looked at for every node that
// comes into question, and a walk looks at its context once in checkEvery nodes.
const maxTerms = 10_000

// boundTerms returns an ErrPredicate for a simplified predicate of too many conditions.
func boundTerms(p Predicate) error {
	count := 0
	walk(p, func(Predicate) { count++ })
	if count <= maxTerms {
		return nil
	}
	return fmt.Errorf(
		"%w: %d conditions, want at most %d: ask in several statements (in takes a list of any length as one condition, "+
			"and equalities of one property that are joined by or are such a list)", ErrPredicate, count, maxTerms)
}

// MaxDepth is the most levels of And, Or and Not within each other. It keeps a predicate from exhausting the stack.
const MaxDepth = 1000

// validate returns an ErrPredicate for a predicate that has no meaning; nil has one.
func validate(p Predicate) error {
	if p == nil {
		return nil
	}
	return validateAt(p, 1)
}

func validateAt(p Predicate, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("%w: more than %d nested conditions", ErrPredicate, MaxDepth)
	}
	switch p := p.(type) {
	case And:
		return validateTerms("an And", p.Terms, depth)
	case Or:
		return validateTerms("an Or", p.Terms, depth)
	case Not:
		return validateTerms("a Not", []Predicate{p.Term}, depth)
	case Compare:
		return validateOp(p.Op)
	case CompareProperties:
		return validateOp(p.Op)
	case In, Like, IsNull:
		return nil
	default:
		return fmt.Errorf(
			"%w: got a %T, want a Compare, CompareProperties, In, Like, IsNull, And, Or or Not of this package, and no "+
				"pointer to one",
			ErrPredicate, p)
	}
}

func validateTerms(of string, terms []Predicate, depth int) error {
	for i, t := range terms {
		if t == nil {
			return fmt.Errorf("%w: term %d of %s is nil", ErrPredicate, i, of)
		}
		if err := validateAt(t, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func validateOp(op Op) error {
	if int(op) >= len(opNames) {
		return fmt.Errorf("%w: got %s, want Eq, Ne, Lt, Le, Gt or Ge", ErrPredicate, op)
	}
	return nil
}
