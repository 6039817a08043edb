package index

import (
	"bytes"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A keyRange is the keys low ≤ key < high.
type keyRange struct{ low, high []byte }

func (r keyRange) empty() bool { return bytes.Compare(r.low, r.high) >= 0 }

// wholeRange covers every value of a kind.
func wholeRange(kind kv.Kind) keyRange {
	tag := map[kv.Kind]byte{
		kv.KindBool: tagBool, kv.KindInt: tagInt, kv.KindFloat: tagFloat, kv.KindString: tagString,
	}[kind]
	return keyRange{[]byte{tag}, []byte{tag + 1}}
}

// keyRanges turns the terms of an And that speak of one property into ranges of its keys, ascending and disjoint,
// and what must still be true of the values found there: nil when the ranges say it all.
func keyRanges(kind kv.Kind, terms []Predicate) (ranges []keyRange, accept Predicate) {
	span := wholeRange(kind)
	var points []keyRange
	var rest []Predicate
	isPoints := false
	for _, t := range terms {
		exact := false
		switch t := t.(type) {
		case Compare:
			var point keyRange
			point, exact = pointRange(t.Value)
			switch t.Op {
			case Eq:
				points, isPoints = append(points, point), true
			case Lt, Le:
				// Strings that share a cut key stand on both sides of the constant: the key is in the range.
				if span.high = point.high; t.Op == Lt && exact {
					span.high = point.low
				}
			case Gt, Ge:
				if span.low = point.low; t.Op == Gt && exact {
					span.low = point.high
				}
			default:
				exact = false
			}
		case In:
			exact, isPoints = true, true
			for _, v := range t.Values {
				point, whole := pointRange(v)
				points = append(points, point)
				exact = exact && whole
			}
		case Like:
			pattern := t.parse()
			var within keyRange
			within, exact = prefixRange(pattern.prefix())
			exact = exact && pattern.prefixOnly()
			if bytes.Compare(within.low, span.low) > 0 {
				span.low = within.low
			}
			if bytes.Compare(within.high, span.high) < 0 {
				span.high = within.high
			}
		case Not:
			_, exact = t.Term.(IsNull) // entries have values
		}
		if !exact {
			rest = append(rest, t)
		}
	}
	if isPoints {
		// A simplified And has no range beside its points.
		ranges = slices.CompactFunc(points, func(a, b keyRange) bool { return bytes.Equal(a.low, b.low) })
	} else if !span.empty() {
		ranges = []keyRange{span}
	}
	if len(rest) == 0 {
		return ranges, nil
	}
	return ranges, conjunction(rest)
}

// pointRange holds the one key of a value; exact tells whether other values cannot have that key.
func pointRange(v kv.Value) (r keyRange, exact bool) {
	key, whole := appendKey(nil, v)
	return keyRange{key, afterPrefix(key)}, whole
}

// prefixRange holds the keys of the strings that begin with prefix; exact tells whether it holds no others.
func prefixRange(prefix string) (r keyRange, exact bool) {
	exact = len(prefix) <= maxStringKey
	if !exact {
		prefix = prefix[:maxStringKey]
	}
	key := appendString([]byte{tagString}, prefix)
	return keyRange{key, afterPrefix(key)}, exact
}
