package index

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/graphcleaner/graphcleaner/kv"
)

// An evaluator decides a simplified predicate: many nodes at once, a single node, or a row of given values. It belongs
// to one goroutine.
type evaluator interface {
	// keep returns those of ascending nodes for which the predicate is true, in their memory.
	keep(values vectors, nodes []kv.NodeID) ([]kv.NodeID, error)

	// may reports whether the predicate can be true of a node of the block that begins at first.
	may(s *scanner, first kv.NodeID) (bool, error)
}

// Vectors return the values of a property.
type vectors func(property string) (vector, error)

// A vector has the values of one property of some nodes.
type vector struct {
	at func(v kv.NodeID) (kv.Value, error)

	block kv.Vector // of a stored column, if these are the nodes of a block of it
	kind  kv.Kind   // of that column
}

// given are the vectors of a single row, which is node 0.
func given(value func(property string) (kv.Value, error)) vectors {
	return func(property string) (vector, error) {
		return vector{at: func(kv.NodeID) (kv.Value, error) { return value(property) }}, nil
	}
}

// newEvaluator prepares a simplified predicate.
func newEvaluator(p Predicate, computed map[string]Computed) evaluator {
	switch p := p.(type) {
	case And:
		return &allOf{newEvaluators(p.Terms, computed)}
	case Or:
		return &anyOf{terms: newEvaluators(p.Terms, computed)}
	case CompareProperties:
		return &pairEvaluator{pair: p}
	}
	e := &leafEvaluator{term: p, property: leafProperty(p), holds: newTest(p)}
	if c, ok := p.(Compare); ok && c.Value.Kind() == kv.KindFloat {
		e.than, e.byOrder = c.Value.Float(), c.Op.byOrder()
	}
	return e
}

// newEvaluators prepares terms: first what bounds degrees, which descend with NodeIDs except for changes, so that it
// rules out the most blocks, and last what asks for computed values.
func newEvaluators(terms []Predicate, computed map[string]Computed) (evaluators []evaluator) {
	rank := func(p Predicate) int {
		switch {
		case asksComputed(p, computed):
			return 1
		case slices.Equal(Properties(p), []string{propertyDegree}):
			return -1
		default:
			return 0
		}
	}
	terms = slices.Clone(terms)
	slices.SortStableFunc(terms, func(a, b Predicate) int { return cmp.Compare(rank(a), rank(b)) })
	for _, t := range terms {
		evaluators = append(evaluators, newEvaluator(t, computed))
	}
	return evaluators
}

// asksComputed reports whether a predicate names a computed property.
func asksComputed(p Predicate, computed map[string]Computed) bool {
	return slices.ContainsFunc(Properties(p), func(name string) bool { _, ok := computed[name]; return ok })
}

// allOf decides an And.
type allOf struct{ terms []evaluator }

func (e *allOf) keep(values vectors, nodes []kv.NodeID) (_ []kv.NodeID, err error) {
	for _, t := range e.terms {
		if len(nodes) == 0 {
			return nodes, nil
		}
		if nodes, err = t.keep(values, nodes); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

func (e *allOf) may(s *scanner, first kv.NodeID) (bool, error) {
	for _, t := range e.terms {
		if may, err := t.may(s, first); !may || err != nil {
			return false, err
		}
	}
	return true, nil
}

// anyOf decides an Or.
type anyOf struct {
	terms      []evaluator
	rest, work []kv.NodeID
}

func (e *anyOf) keep(values vectors, nodes []kv.NodeID) ([]kv.NodeID, error) {
	e.rest = append(e.rest[:0], nodes...)
	for _, t := range e.terms {
		if len(e.rest) == 0 {
			break
		}
		e.work = append(e.work[:0], e.rest...)
		kept, err := t.keep(values, e.work)
		if err != nil {
			return nil, err
		}
		e.rest = without(e.rest, kept)
	}
	return without(nodes, e.rest), nil
}

// without removes some of ascending nodes, in their memory.
func without(nodes, some []kv.NodeID) []kv.NodeID {
	kept := nodes[:0]
	for _, v := range nodes {
		if len(some) > 0 && some[0] == v {
			some = some[1:]
		} else {
			kept = append(kept, v)
		}
	}
	return kept
}

func (e *anyOf) may(s *scanner, first kv.NodeID) (bool, error) {
	for _, t := range e.terms {
		if may, err := t.may(s, first); may || err != nil {
			return may, err
		}
	}
	return false, nil
}

// A leafEvaluator decides a condition on one property.
type leafEvaluator struct {
	term     Predicate
	property string
	holds    func(kv.Value) bool

	// Of a comparison with a float: the float, and what it says of a value that is less, equal or greater.
	than    float64
	byOrder []bool

	table  []kv.Value // of the last block
	truths []bool     // of the table
	ranges []keyRange // that have the values for which it may be true
}

func (e *leafEvaluator) keep(values vectors, nodes []kv.NodeID) ([]kv.NodeID, error) {
	column, err := values(e.property)
	if err != nil {
		return nil, err
	}
	kept := nodes[:0]
	switch {
	case column.block.Table != nil:
		e.decideTable(column)
		for _, v := range nodes {
			if e.truths[column.block.Codes[v-column.block.Nodes.First]] {
				kept = append(kept, v)
			}
		}
	case column.block.Floats != nil && e.byOrder != nil:
		for _, v := range nodes {
			x := column.block.Floats[v-column.block.Nodes.First]
			if x < e.than && e.byOrder[0] || x == e.than && e.byOrder[1] || x > e.than && e.byOrder[2] {
				kept = append(kept, v)
			}
		}
	default:
		for _, v := range nodes {
			value, err := column.at(v)
			if err != nil {
				return nil, fmt.Errorf("property %s: %w", e.property, err)
			}
			if e.holds(value) {
				kept = append(kept, v)
			}
		}
	}
	return kept, nil
}

// decideTable decides the values of a table. That of classes is the same for all blocks.
func (e *leafEvaluator) decideTable(column vector) {
	table := column.block.Table
	if column.kind == kv.KindClass && len(table) == len(e.table) && &table[0] == &e.table[0] {
		return
	}
	e.table, e.truths = table, e.truths[:0]
	for _, value := range table {
		e.truths = append(e.truths, e.holds(value))
	}
}

// may compares the values for which the term may be true with the least and the greatest of the block.
func (e *leafEvaluator) may(s *scanner, first kv.NodeID) (bool, error) {
	if _, null := e.term.(IsNull); null || !s.hasBlocks(e.property) {
		return true, nil
	}
	b, err := s.block(e.property, first)
	if err != nil || b.min.IsNull() { // no values at all
		return false, err
	}
	if e.ranges == nil {
		e.ranges, _ = keyRanges(b.min.Kind(), []Predicate{e.term})
	}
	least, _ := appendKey(nil, b.min)
	greatest, _ := appendKey(nil, b.max)
	next := sort.Search(len(e.ranges), func(i int) bool { return bytes.Compare(least, e.ranges[i].high) < 0 })
	return next < len(e.ranges) && bytes.Compare(e.ranges[next].low, greatest) <= 0, nil
}

// byOrder tells what a comparison says of what is less, equal and greater.
func (op Op) byOrder() []bool { return []bool{op.holds(-1), op.holds(0), op.holds(1)} }

// newTest prepares a simplified condition on one property for its values. Of null only IsNull is true.
func newTest(p Predicate) func(kv.Value) bool {
	switch p := p.(type) {
	case Compare:
		return func(v kv.Value) bool { return !v.IsNull() && p.Op.holds(CompareValues(v, p.Value)) }
	case In: // its values ascend
		return func(v kv.Value) bool { return !v.IsNull() && contains(p.Values, v) }
	case Like:
		pattern := p.parse()
		return func(v kv.Value) bool { return !v.IsNull() && pattern.match(v.String()) }
	case IsNull:
		return kv.Value.IsNull
	case Not:
		inner := newTest(p.Term)
		if _, null := p.Term.(IsNull); null {
			return func(v kv.Value) bool { return !v.IsNull() }
		}
		return func(v kv.Value) bool { return !v.IsNull() && !inner(v) }
	default:
		panic("index: " + p.String() + " is no condition on one property") // others take And and Or apart
	}
}

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
