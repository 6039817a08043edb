package index

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/graphcleaner/graphcleaner/kv"
)

// The constant predicates.
var (
	always Predicate = And{}
	never  Predicate = Or{}
)

func isAlways(p Predicate) bool { and, ok := p.(And); return ok && len(and.Terms) == 0 }
func isNever(p Predicate) bool  { or, ok := p.(Or); return ok && len(or.Terms) == 0 }

// simplify returns a predicate that is true of the same nodes. Not remains only around In, Like and IsNull; And
// and Or alternate, have at least two terms and say nothing twice; constants are of the kind of their property;
// and the comparisons of one property within an And are one Compare, one In, or a range.
//
// With every Not at a leaf nothing tells unknown from false any more, so both become false.
func (s schema) simplify(p Predicate) Predicate {
	if p == nil {
		return always
	}
	return s.push(p, false)
}

// push simplifies p, or its negation.
func (s schema) push(p Predicate, negate bool) Predicate {
	switch p := p.(type) {
	case Not:
		return s.push(p.Term, !negate)
	case And:
		if negate {
			return mergeOr(s.pushAll(p.Terms, negate))
		}
		return s.mergeAnd(s.pushAll(p.Terms, negate))
	case Or:
		if negate {
			return s.mergeAnd(s.pushAll(p.Terms, negate))
		}
		return mergeOr(s.pushAll(p.Terms, negate))
	case CompareProperties:
		return s.simplifyPair(p, negate)
	}
	prop := s[propertyOf(p)]
	if prop.absent {
		return prop.ofNull(p, negate)
	}
	switch p := p.(type) {
	case Compare:
		op := p.Op
		if negate {
			op = negation[op]
		}
		return prop.bind(op, p.Value)
	case In:
		return prop.bindIn(p.Values, negate)
	case Like:
		if text, ok := p.parse().literal(); ok {
			if negate {
				return prop.bind(Ne, kv.ValueOf(text))
			}
			return prop.bind(Eq, kv.ValueOf(text))
		}
	}
	if negate {
		return Not{p}
	}
	return p
}

func (s schema) pushAll(terms []Predicate, negate bool) []Predicate {
	all := make([]Predicate, len(terms))
	for i, t := range terms {
		all[i] = s.push(t, negate)
	}
	return all
}

// ofNull folds a condition on a property that is null for every node.
func (p property) ofNull(leaf Predicate, negate bool) Predicate {
	_, null := leaf.(IsNull)
	in, isIn := leaf.(In)
	if null != negate && null || isIn && len(in.Values) == 0 && negate {
		return always
	}
	return never
}

// notNull is the condition that the property has a value.
func (p property) notNull() Predicate { return Not{IsNull{p.name}} }

// bind makes a comparison whose constant is of the property's kind, and finds the nearest where kind cannot hold
// the constant: year > 2018.5 is year > 2018.
func (p property) bind(op Op, c kv.Value) Predicate {
	if c.IsNull() {
		return never
	}
	at, exact, none := p.hold(c)
	switch {
	case exact:
		return Compare{p.name, op, at}
	case op == Eq:
		return never
	case op == Ne:
		return p.notNull()
	case none && (op == Lt || op == Le):
		return never
	case none:
		return p.notNull()
	case op == Lt || op == Le:
		return Compare{p.name, Le, at}
	default:
		return Compare{p.name, Gt, at}
	}
}

// hold finds the value of the property's kind that a constant stands for; see holdable.
func (p property) hold(c kv.Value) (at kv.Value, exact, none bool) {
	switch {
	case c.Kind() == p.kind:
		return c, true, false
	case p.kind == kv.KindString: // an id written as a number
		return kv.ValueOf(c.String()), true, false
	case c.Kind() == kv.KindString: // an integer id written as text
		i, err := strconv.ParseInt(c.Str(), 10, 64)
		if err != nil || strconv.FormatInt(i, 10) != c.Str() {
			return kv.Value{}, false, true
		}
		return kv.ValueOf(i), true, false
	default:
		return holdable(c, p.kind)
	}
}

// bindIn simplifies a list, or its negation.
func (p property) bindIn(values []kv.Value, negate bool) Predicate {
	if len(values) == 0 {
		if negate {
			return always // of null too: there is nothing to compare it with
		}
		return never
	}
	var members []kv.Value
	for _, c := range values {
		if c.IsNull() {
			if negate {
				return never
			}
			continue
		}
		if at, exact, _ := p.hold(c); exact {
			members = append(members, at)
		}
	}
	if negate {
		return p.noneOf(members)
	}
	return oneOf(p.name, members)
}

// oneOf is the condition that a property equals one of values.
func oneOf(name string, values []kv.Value) Predicate {
	switch values = sortedSet(values); len(values) {
	case 0:
		return never
	case 1:
		return Compare{name, Eq, values[0]}
	default:
		return In{name, values}
	}
}

// noneOf is the condition that the property has a value and it is none of values.
func (p property) noneOf(values []kv.Value) Predicate {
	switch values = sortedSet(values); len(values) {
	case 0:
		return p.notNull()
	case 1:
		return Compare{p.name, Ne, values[0]}
	default:
		return Not{In{p.name, values}}
	}
}

func sortedSet(values []kv.Value) []kv.Value {
	values = slices.Clone(values)
	slices.SortFunc(values, CompareValues)
	return slices.CompactFunc(values, func(a, b kv.Value) bool { return CompareValues(a, b) == 0 })
}

// mergeAnd joins simplified terms, those of one property through a constraint.
func (s schema) mergeAnd(terms []Predicate) Predicate {
	var names []string // in the order of first mention
	byName := map[string]*constraint{}
	var rest []Predicate
	for _, t := range flatten(terms, func(p Predicate) ([]Predicate, bool) { a, ok := p.(And); return a.Terms, ok }) {
		if isNever(t) {
			return never
		}
		if isUndivided(t) {
			rest = append(rest, t)
			continue
		}
		name := leafProperty(t)
		if byName[name] == nil {
			names = append(names, name)
			byName[name] = &constraint{property: s[name]}
		}
		byName[name].add(t)
	}
	var out []Predicate
	for _, name := range names {
		parts := byName[name].predicates()
		if len(parts) == 1 && isNever(parts[0]) {
			return never
		}
		out = append(out, parts...)
	}
	if out = distinct(append(out, rest...)); len(out) == 1 {
		return out[0]
	}
	return And{out}
}

// mergeOr joins simplified terms: equalities of one property become one In, in the place of the first of them.
func mergeOr(terms []Predicate) Predicate {
	equal, places := map[string][]kv.Value{}, map[string]int{}
	var out []Predicate
	for _, t := range flatten(terms, func(p Predicate) ([]Predicate, bool) { o, ok := p.(Or); return o.Terms, ok }) {
		if isAlways(t) {
			return always
		}
		var values []kv.Value
		switch t := t.(type) {
		case In:
			values = t.Values
		case Compare:
			if t.Op == Eq {
				values = []kv.Value{t.Value}
			}
		}
		if values == nil {
			out = append(out, t)
			continue
		}
		name := propertyOf(t)
		if equal[name] == nil {
			places[name], out = len(out), append(out, t)
		}
		equal[name] = append(equal[name], values...)
	}
	for name, values := range equal {
		out[places[name]] = oneOf(name, values)
	}
	if out = distinct(out); len(out) == 1 {
		return out[0]
	}
	return Or{out}
}

// wider reports whether a, which points the same way as b, admits more.
func wider(a, b Compare) bool {
	sign := CompareValues(a.Value, b.Value)
	if a.Op == Lt || a.Op == Le {
		sign = -sign
	}
	return sign < 0 || sign == 0 && (a.Op == Ge || a.Op == Le)
}

// flatten replaces terms that are of the joining kind themselves by their own terms.
func flatten(terms []Predicate, open func(Predicate) ([]Predicate, bool)) []Predicate {
	var flat []Predicate
	for _, t := range terms {
		if inner, ok := open(t); ok {
			flat = append(flat, inner...)
		} else {
			flat = append(flat, t)
		}
	}
	return flat
}

// distinct drops terms said before. Different ones may read the same, such as of a column 2 and of the number.
func distinct(terms []Predicate) []Predicate {
	seen := map[string][]Predicate{}
	return slices.DeleteFunc(terms, func(t Predicate) bool {
		text := t.String()
		again := slices.ContainsFunc(seen[text], func(other Predicate) bool { return reflect.DeepEqual(other, t) })
		seen[text] = append(seen[text], t)
		return again
	})
}

// isUndivided reports whether a simplified term, no And, speaks of more than one property.
func isUndivided(t Predicate) bool {
	switch t.(type) {
	case Or, CompareProperties:
		return true
	}
	return false
}

// leafProperty is the property of a simplified term that is not And or Or; "" of a CompareProperties.
func leafProperty(t Predicate) string {
	if not, ok := t.(Not); ok {
		t = not.Term
	}
	return propertyOf(t)
}
