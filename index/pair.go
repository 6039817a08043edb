package index

import (
	"cmp"
	"slices"

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

// A pairEvaluator decides a comparison of two properties. Of two columns of classes it compares ranks.
type pairEvaluator struct {
	pair  CompareProperties
	table []kv.Value // of classes
	ranks []int32    // of the table
}

func (e *pairEvaluator) join(at rows, decides truth, outcomes []truth) error {
	p := e.pair
	if !slices.ContainsFunc(outcomes, decides.isOpen) {
		return nil
	}
	a, err := at.column(p.Property)
	if err != nil {
		return err
	}
	b, err := at.column(p.Other)
	if err != nil {
		return err
	}
	if a != nil && b != nil && at.block.hasKind(p.Property, kv.KindClass) && at.block.hasKind(p.Other, kv.KindClass) {
		return e.joinClasses(a, b, at, decides, outcomes)
	}
	x, err := at.values(p.Property)
	if err != nil {
		return err
	}
	y, err := at.values(p.Other)
	if err != nil {
		return err
	}
	return joinEach(outcomes, decides, func(row int) (truth, error) {
		left, err := x(row)
		if err != nil {
			return isUnknown, wrapProperty(p.Property, err)
		}
		right, err := y(row)
		return p.truthOf(left, right), wrapProperty(p.Other, err)
	})
}

// joinClasses decides a block of two columns of classes.
func (e *pairEvaluator) joinClasses(a, b *kv.ColumnReader, at rows, decides truth, outcomes []truth) error {
	left, _, err := a.Codes(at.first)
	if err != nil {
		return wrapProperty(e.pair.Property, err)
	}
	right, _, err := b.Codes(at.first)
	if err != nil {
		return wrapProperty(e.pair.Other, err)
	}
	if !sameSlice(e.table, left.Table) {
		e.table, e.ranks = left.Table, ranksOf(left.Table)
	}
	begin, byOrder := int(at.first)%kv.BlockRows, e.pair.Op.byOrder()
	rights := right.Rows[begin:][:len(outcomes)]
	for i, x := range left.Rows[begin:][:len(outcomes)] {
		outcome, y := isUnknown, rights[i]
		if x != 0 && y != 0 {
			outcome = byOrder[1+cmp.Compare(e.ranks[x], e.ranks[y])]
		}
		outcomes[i] = decides.join(outcomes[i], outcome)
	}
	return nil
}

// ranksOf is the place of each value of a table among all, in their order. The first is null, and has none.
func ranksOf(table []kv.Value) []int32 {
	order := make([]int32, len(table)-1)
	for i := range order {
		order[i] = int32(i) + 1
	}
	slices.SortFunc(order, func(a, b int32) int { return CompareValues(table[a], table[b]) })
	ranks := make([]int32, len(table))
	for rank, n := range order {
		ranks[n] = int32(rank)
	}
	return ranks
}
