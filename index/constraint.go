package index

import (
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A constraint gathers the conditions of an And on one property.
type constraint struct {
	property property
	lower    *Compare // Gt or Ge
	upper    *Compare // Lt or Le
	in       []kv.Value
	hasIn    bool
	out      []kv.Value // values it must not equal
	likes    []Predicate
	null     bool
	notNull  bool
}

// add takes one more simplified term on the property.
func (c *constraint) add(t Predicate) {
	switch t := t.(type) {
	case Compare:
		switch t.Op {
		case Eq:
			c.restrict([]kv.Value{t.Value})
		case Ne:
			c.out = append(c.out, t.Value)
		case Gt, Ge:
			if c.lower == nil || wider(*c.lower, t) {
				c.lower = &t
			}
		default:
			if c.upper == nil || wider(*c.upper, t) {
				c.upper = &t
			}
		}
	case In:
		c.restrict(t.Values)
	case Like:
		c.likes = append(c.likes, t)
	case IsNull:
		c.null = true
	case Not:
		switch inner := t.Term.(type) {
		case In:
			c.out = append(c.out, inner.Values...)
		case IsNull:
			c.notNull = true
		default:
			c.likes = append(c.likes, t)
		}
	}
}

// restrict intersects the values it may equal.
func (c *constraint) restrict(values []kv.Value) {
	if !c.hasIn {
		c.in, c.hasIn = slices.Clone(values), true
		return
	}
	set := sortedSet(values)
	c.in = slices.DeleteFunc(c.in, func(v kv.Value) bool { return !contains(set, v) })
}

// contains looks up v in a sorted set.
func contains(set []kv.Value, v kv.Value) bool {
	_, found := slices.BinarySearchFunc(set, v, CompareValues)
	return found
}

// inRange reports whether v lies between the bounds.
func (c *constraint) inRange(v kv.Value) bool {
	return (c.lower == nil || c.lower.Op.holds(CompareValues(v, c.lower.Value))) &&
		(c.upper == nil || c.upper.Op.holds(CompareValues(v, c.upper.Value)))
}

// predicates says the same in as few terms as it takes.
func (c *constraint) predicates() []Predicate {
	valued := c.lower != nil || c.upper != nil || c.hasIn || len(c.out) > 0 || len(c.likes) > 0 || c.notNull
	if c.null {
		if valued {
			return []Predicate{never}
		}
		return []Predicate{IsNull{c.property.name}}
	}
	name := c.property.name
	if !c.hasIn && c.lower != nil && c.upper != nil {
		switch sign := CompareValues(c.lower.Value, c.upper.Value); {
		case sign > 0 || sign == 0 && (c.lower.Op == Gt || c.upper.Op == Lt):
			return []Predicate{never}
		case sign == 0:
			c.restrict([]kv.Value{c.lower.Value})
		}
	}
	if c.hasIn {
		out, isLiked := sortedSet(c.out), c.likeTest()
		values := slices.DeleteFunc(c.in, func(v kv.Value) bool {
			return !c.inRange(v) || contains(out, v) || !isLiked(v)
		})
		return []Predicate{oneOf(name, values)}
	}
	var terms []Predicate
	if c.lower != nil {
		terms = append(terms, *c.lower)
	}
	if c.upper != nil {
		terms = append(terms, *c.upper)
	}
	out := slices.DeleteFunc(slices.Clone(c.out), func(v kv.Value) bool { return !c.inRange(v) })
	if len(out) > 0 {
		terms = append(terms, c.property.noneOf(out))
	}
	terms = append(terms, c.likes...)
	if len(terms) == 0 {
		terms = append(terms, c.property.notNull())
	}
	return terms
}

// likeTest returns the function that reports whether a value satisfies every Like.
func (c *constraint) likeTest() func(kv.Value) bool {
	var tests []func(kv.Value) bool
	for _, like := range c.likes {
		tests = append(tests, newTest(like))
	}
	return func(v kv.Value) bool {
		return !slices.ContainsFunc(tests, func(test func(kv.Value) bool) bool { return !test(v) })
	}
}
