package index

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
)

// truthOf compares the values of the two properties.
func (p CompareProperties) truthOf(a, b kv.Value) truth {
	if a.IsNull() || b.IsNull() {
		return isUnknown
	}
	return truthOf(p.Op.holds(CompareValues(a, b)))
}

// simplifyPair folds a comparison of two properties, or its negation, if one of them is null for every node.
func (s schema) simplifyPair(p CompareProperties, negate bool) Predicate {
	if s[p.Property].absent || s[p.Other].absent {
		return never
	}
	if negate {
		p.Op = negation[p.Op]
	}
	return p
}

// checkPair returns a *TypeError if the two properties hold values that cannot be compared.
func (s schema) checkPair(p CompareProperties) error {
	a, b := s[p.Property], s[p.Other]
	isNumber := func(k kv.Kind) bool { return k == kv.KindInt || k == kv.KindFloat }
	if a.kind == b.kind || isNumber(a.kind) && isNumber(b.kind) {
		return nil
	}
	return &TypeError{Property: a.name, Kind: a.kind, Other: b.name, OtherKind: b.kind}
}

// pair prepares a comparison of two properties for evaluation at many nodes.
func (r *reader) pair(p CompareProperties) (condition, error) {
	a, err := r.values(p.Property)
	if err != nil {
		return nil, err
	}
	b, err := r.values(p.Other)
	if err != nil {
		return nil, err
	}
	return func(v kv.NodeID) (truth, error) {
		x, err := a(v)
		if err != nil {
			return isUnknown, fmt.Errorf("property %s: %w", p.Property, err)
		}
		y, err := b(v)
		if err != nil {
			return isUnknown, fmt.Errorf("property %s: %w", p.Other, err)
		}
		return p.truthOf(x, y), nil
	}, nil
}

// preparePair is prepare of a comparison of two properties.
func preparePair(p CompareProperties) func(value func(property string) (kv.Value, error)) (truth, error) {
	return func(value func(string) (kv.Value, error)) (truth, error) {
		x, err := value(p.Property)
		if err != nil {
			return isUnknown, fmt.Errorf("property %s: %w", p.Property, err)
		}
		y, err := value(p.Other)
		if err != nil {
			return isUnknown, fmt.Errorf("property %s: %w", p.Other, err)
		}
		return p.truthOf(x, y), nil
	}
}
