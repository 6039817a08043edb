package index

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

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

// A pairEvaluator decides a comparison of two properties. Of two columns of classes it compares ranks.
type pairEvaluator struct {
	pair  CompareProperties
	table []kv.Value // of classes
	ranks []int32    // of the table
}

func (e *pairEvaluator) keep(values vectors, nodes []kv.NodeID) ([]kv.NodeID, error) {
	left, err := values(e.pair.Property)
	if err != nil {
		return nil, err
	}
	right, err := values(e.pair.Other)
	if err != nil {
		return nil, err
	}
	kept := nodes[:0]
	if left.kind == kv.KindClass && right.kind == kv.KindClass {
		byOrder, ranks := e.pair.Op.byOrder(), e.ranksOf(left.block.Table)
		for _, v := range nodes {
			a, b := left.block.Codes[v-left.block.Nodes.First], right.block.Codes[v-right.block.Nodes.First]
			if a != 0 && b != 0 && byOrder[1+cmp.Compare(ranks[a], ranks[b])] {
				kept = append(kept, v)
			}
		}
		return kept, nil
	}
	for _, v := range nodes {
		a, err := left.at(v)
		if err != nil {
			return nil, fmt.Errorf("property %s: %w", e.pair.Property, err)
		}
		b, err := right.at(v)
		if err != nil {
			return nil, fmt.Errorf("property %s: %w", e.pair.Other, err)
		}
		if !a.IsNull() && !b.IsNull() && e.pair.Op.holds(CompareValues(a, b)) {
			kept = append(kept, v)
		}
	}
	return kept, nil
}

// may is true: no column rules a pair out.
func (*pairEvaluator) may(*scanner, kv.NodeID) (bool, error) { return true, nil }

// ranksOf returns the place of each class in the order of all. The first of the table is null, and has none.
func (e *pairEvaluator) ranksOf(table []kv.Value) []int32 {
	if len(e.table) == len(table) {
		return e.ranks
	}
	order := make([]int32, len(table)-1)
	for i := range order {
		order[i] = int32(i) + 1
	}
	slices.SortFunc(order, func(a, b int32) int { return CompareValues(table[a], table[b]) })
	e.table, e.ranks = table, make([]int32, len(table))
	for rank, n := range order {
		e.ranks[n] = int32(rank)
	}
	return e.ranks
}
