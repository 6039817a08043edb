package index

import (
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
