package index

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A truth is the outcome of a condition. And is the least of its terms, Or the greatest, Not turns the order round.
type truth int8

const (
	isFalse truth = iota - 1
	isUnknown
	isTrue
)

func truthOf(b bool) truth {
	if b {
		return isTrue
	}
	return isFalse
}

// newTest prepares a condition on one property, a Compare, In, Like or IsNull or a Not of one, for its values.
func newTest(p Predicate) func(kv.Value) truth {
	ofValue := func(holds func(kv.Value) bool) func(kv.Value) truth {
		return func(v kv.Value) truth {
			if v.IsNull() {
				return isUnknown
			}
			return truthOf(holds(v))
		}
	}
	switch p := p.(type) {
	case Compare:
		if p.Value.IsNull() {
			return func(kv.Value) truth { return isUnknown }
		}
		return ofValue(func(v kv.Value) bool { return p.Op.holds(CompareValues(v, p.Value)) })
	case In:
		if len(p.Values) == 0 {
			return func(kv.Value) truth { return isFalse }
		}
		values := sortedSet(slices.DeleteFunc(slices.Clone(p.Values), kv.Value.IsNull))
		missing := isFalse
		if slices.ContainsFunc(p.Values, kv.Value.IsNull) {
			missing = isUnknown
		}
		return func(v kv.Value) truth {
			if v.IsNull() {
				return isUnknown
			}
			if _, found := slices.BinarySearchFunc(values, v, CompareValues); found {
				return isTrue
			}
			return missing
		}
	case Like:
		pattern := p.parse()
		return ofValue(func(v kv.Value) bool { return pattern.match(v.String()) })
	case IsNull:
		return func(v kv.Value) truth { return truthOf(v.IsNull()) }
	case Not:
		inner := newTest(p.Term)
		return func(v kv.Value) truth { return -inner(v) }
	default:
		panic("index: " + p.String() + " is no condition on one property") // callers take And and Or apart
	}
}

// A condition is a predicate prepared for evaluation at many nodes.
type condition func(v kv.NodeID) (truth, error)

// A reader holds the column readers of one walk, one a property. It belongs to one goroutine.
type reader struct {
	tx       *kv.Tx
	columns  map[string]*kv.ColumnReader
	computed map[string]Computed
	workers  int // goroutines that a filter may decide nodes on; 0 is one
}

func newReader(tx *kv.Tx, computed map[string]Computed) *reader {
	return &reader{tx: tx, columns: map[string]*kv.ColumnReader{}, computed: computed}
}

// values returns the values of a property, stored or computed.
func (r *reader) values(name string) (func(v kv.NodeID) (kv.Value, error), error) {
	if c, ok := r.computed[name]; ok {
		return c.At, nil
	}
	c, err := r.column(name)
	if err != nil {
		return nil, err
	}
	return c.At, nil
}

// column returns the reader of a property the store has.
func (r *reader) column(name string) (*kv.ColumnReader, error) {
	if c := r.columns[name]; c != nil {
		return c, nil
	}
	c, err := r.tx.Reader(name)
	if err != nil {
		return nil, fmt.Errorf("property %s: %w", name, err)
	}
	r.columns[name] = c
	return c, nil
}

// condition prepares p, which is simplified and speaks of properties the store has.
func (r *reader) condition(p Predicate) (condition, error) {
	switch p := p.(type) {
	case And:
		return r.join(p.Terms, isFalse)
	case Or:
		return r.join(p.Terms, isTrue)
	case CompareProperties:
		return r.pair(p)
	}
	name := leafProperty(p)
	at, err := r.values(name)
	if err != nil {
		return nil, err
	}
	holds := newTest(p)
	return func(v kv.NodeID) (truth, error) {
		value, err := at(v)
		if err != nil {
			return isUnknown, fmt.Errorf("property %s: %w", name, err)
		}
		return holds(value), nil
	}, nil
}

// join evaluates terms in turn until one decides: isFalse for And, isTrue for Or. Terms that ask for computed values come last.
func (r *reader) join(terms []Predicate, decides truth) (condition, error) {
	terms = r.computedLast(terms)
	conditions := make([]condition, len(terms))
	for i, t := range terms {
		c, err := r.condition(t)
		if err != nil {
			return nil, err
		}
		conditions[i] = c
	}
	return func(v kv.NodeID) (truth, error) {
		outcome := -decides
		for _, c := range conditions {
			t, err := c(v)
			if err != nil || t == decides {
				return t, err
			}
			if t == isUnknown {
				outcome = isUnknown
			}
		}
		return outcome, nil
	}, nil
}

// computedLast are terms in another order: those that ask for more computed values come later.
func (r *reader) computedLast(terms []Predicate) []Predicate {
	terms = slices.Clone(terms)
	slices.SortStableFunc(terms, func(a, b Predicate) int { return cmp.Compare(r.numComputed(a), r.numComputed(b)) })
	return terms
}

// numComputed is how many computed properties a predicate names.
func (r *reader) numComputed(p Predicate) (count int) {
	if len(r.computed) == 0 {
		return 0
	}
	for _, name := range Properties(p) {
		if _, ok := r.computed[name]; ok {
			count++
		}
	}
	return count
}
