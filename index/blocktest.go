package index

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A blockTest joins the outcomes of a condition at the nodes of rng, which lie in one block of columns, into outcomes, one for each node: as And joins
// terms if decides is isFalse, as Or does if it is isTrue. Nodes whose outcome is decides already are not looked at.
type blockTest func(rng kv.Range, decides truth, outcomes []truth) error

// blockTest prepares p, which is simplified and speaks of properties the store has, for evaluation at whole blocks of nodes.
func (r *reader) blockTest(p Predicate) (blockTest, error) {
	switch p := p.(type) {
	case And:
		return r.joinBlocks(p.Terms, isFalse)
	case Or:
		return r.joinBlocks(p.Terms, isTrue)
	case CompareProperties:
		return r.pairBlocks(p)
	}
	name, holds := leafProperty(p), newTest(p)
	at, err := r.values(name)
	if err != nil {
		return nil, err
	}
	column := r.columns[name] // nil of a computed property
	bound, isBound := floatBoundOf(p)
	isBound = isBound && column != nil
	isFixed := r.hasKind(name, kv.KindClass) || r.hasKind(name, kv.KindBool)
	var table []kv.Value
	var truths []truth // of the table
	return func(rng kv.Range, decides truth, outcomes []truth) error {
		if !slices.ContainsFunc(outcomes, decides.isOpen) {
			return nil
		}
		if column != nil {
			codes, ok, err := column.Codes(rng.First)
			if err != nil {
				return fmt.Errorf("property %s: %w", name, err)
			}
			if ok {
				if !isFixed || !sameSlice(table, codes.Table) {
					table, truths = codes.Table, truths[:0]
					for _, value := range table {
						truths = append(truths, holds(value))
					}
				}
				for i, n := range codes.Rows[int(rng.First)%kv.BlockRows:][:len(outcomes)] {
					outcomes[i] = decides.join(outcomes[i], truths[n])
				}
				return nil
			}
		}
		if isBound {
			values, ok, err := column.Floats(rng.First)
			if err != nil {
				return fmt.Errorf("property %s: %w", name, err)
			}
			if ok {
				bound.join(values[int(rng.First)%kv.BlockRows:], decides, outcomes)
				return nil
			}
		}
		for i, known := range outcomes {
			if known == decides {
				continue
			}
			value, err := at(rng.First + kv.NodeID(i))
			if err != nil {
				return fmt.Errorf("property %s: %w", name, err)
			}
			outcomes[i] = decides.join(known, holds(value))
		}
		return nil
	}, nil
}

// A floatBound compares floats with one. It has the outcomes of less, equal and greater.
type floatBound struct {
	than    float64
	byOrder [3]truth
}

// floatBoundOf is the comparison of floats that p is, if it is one.
func floatBoundOf(p Predicate) (floatBound, bool) {
	c, ok := p.(Compare)
	if !ok || c.Value.Kind() != kv.KindFloat {
		return floatBound{}, false
	}
	return floatBound{c.Value.Float(), c.Op.byOrder()}, true
}

// byOrder has the outcomes of a comparison of what is less, equal and greater.
func (op Op) byOrder() (outcomes [3]truth) {
	for i := range outcomes {
		outcomes[i] = truthOf(op.holds(i - 1))
	}
	return outcomes
}

// join joins what the comparison says of values, NaN for null, into outcomes, which may be fewer.
func (b floatBound) join(values []float64, decides truth, outcomes []truth) {
	for i, x := range values[:len(outcomes)] {
		outcome := isUnknown
		if x < b.than {
			outcome = b.byOrder[0]
		} else if x > b.than {
			outcome = b.byOrder[2]
		} else if x == b.than {
			outcome = b.byOrder[1]
		}
		outcomes[i] = decides.join(outcomes[i], outcome)
	}
}

// isOpen reports whether a node with this outcome so far is undecided.
func (t truth) isOpen(outcome truth) bool { return outcome != t }

// join joins two outcomes as terms are of which t decides.
func (t truth) join(a, b truth) truth {
	if t == isFalse {
		return min(a, b)
	}
	return max(a, b)
}

// sameSlice reports whether a and b are one slice, and so have the same values if nobody changes them.
func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// joinBlocks joins terms: own is isFalse for And, isTrue for Or. Terms that ask for computed values come last.
func (r *reader) joinBlocks(terms []Predicate, own truth) (blockTest, error) {
	terms = r.computedLast(terms)
	tests := make([]blockTest, len(terms))
	for i, t := range terms {
		test, err := r.blockTest(t)
		if err != nil {
			return nil, err
		}
		tests[i] = test
	}
	var inner []truth
	return func(rng kv.Range, decides truth, outcomes []truth) error {
		joined := outcomes
		if own != decides {
			inner = inner[:0]
			for _, known := range outcomes {
				if known == decides {
					inner = append(inner, own) // nobody asks
				} else {
					inner = append(inner, -own)
				}
			}
			joined = inner
		}
		for _, test := range tests {
			if err := test(rng, own, joined); err != nil {
				return err
			}
		}
		if own != decides {
			for i, known := range outcomes {
				if known != decides {
					outcomes[i] = decides.join(known, inner[i])
				}
			}
		}
		return nil
	}, nil
}

// pairBlocks prepares a comparison of two properties. Of two columns of classes it compares ranks.
func (r *reader) pairBlocks(p CompareProperties) (blockTest, error) {
	one, err := r.pair(p)
	if err != nil {
		return nil, err
	}
	a, b := r.columns[p.Property], r.columns[p.Other]
	areClasses := a != nil && b != nil && r.hasKind(p.Property, kv.KindClass) && r.hasKind(p.Other, kv.KindClass)
	byOrder := p.Op.byOrder()
	var table []kv.Value
	var ranks []int32 // of the table
	return func(rng kv.Range, decides truth, outcomes []truth) error {
		if !slices.ContainsFunc(outcomes, decides.isOpen) {
			return nil
		}
		if !areClasses {
			for i, known := range outcomes {
				if known == decides {
					continue
				}
				outcome, err := one(rng.First + kv.NodeID(i))
				if err != nil {
					return err
				}
				outcomes[i] = decides.join(known, outcome)
			}
			return nil
		}
		left, _, err := a.Codes(rng.First)
		if err != nil {
			return fmt.Errorf("property %s: %w", p.Property, err)
		}
		right, _, err := b.Codes(rng.First)
		if err != nil {
			return fmt.Errorf("property %s: %w", p.Other, err)
		}
		if !sameSlice(table, left.Table) {
			table, ranks = left.Table, ranksOf(left.Table)
		}
		begin := int(rng.First) % kv.BlockRows
		rights := right.Rows[begin:][:len(outcomes)]
		for i, x := range left.Rows[begin:][:len(outcomes)] {
			outcome, y := isUnknown, rights[i]
			if x != 0 && y != 0 {
				outcome = byOrder[1+cmp.Compare(ranks[x], ranks[y])]
			}
			outcomes[i] = decides.join(outcomes[i], outcome)
		}
		return nil
	}, nil
}

// hasKind reports whether a property is a column of a kind.
func (r *reader) hasKind(name string, kind kv.Kind) bool {
	c, ok := r.tx.Column(name)
	return ok && c.Kind == kind
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
