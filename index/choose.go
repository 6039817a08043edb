package index

import (
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

const (
	// A range of an index is narrow up to narrowEntries. Where a scan is all that is left, it is narrow up to one entry
	// in narrowShare nodes too: to read so many rows one by one takes about as long as to scan all.
	narrowEntries = 1 << 14
	narrowShare   = 32

	// A longer list of values is not looked up one by one.
	narrowRanges = 1 << 10

	// walkRows is how many rows a walk in order reads before it gives way. Rows that match may all come last.
	walkRows = 1 << 14
)

// choose takes the first way that fits: see the package comment.
func (p *Plan) choose() error {
	ordered := ""
	if len(p.order) > 0 && p.schema[p.order[0].Property].indexed {
		ordered = p.order[0].Property
	}
	inFile := len(p.order) == 0 && (p.limit >= 0 || isAlways(p.where))
	most := p.mostNarrow()
	if ordered != "" || inFile {
		most = narrowEntries
	}
	if err := p.chooseSet(ordered, most); err != nil || p.way != byScan {
		return err
	}
	switch {
	case ordered != "":
		return p.walkIndex()
	case inFile:
		p.way, p.patience = byFileOrder, p.patienceFor(p.where)
	}
	return nil
}

// mostNarrow is how many entries a narrow range has at most where a scan is all that is left.
func (p *Plan) mostNarrow() int { return max(narrowEntries, p.tx.Shape().Present/narrowShare) }

// chooseSet takes the first way that fits and finds the nodes as a set. Ranges of more than most entries are not
// narrow, and the index of one property is not looked at.
func (p *Plan) chooseSet(except string, most int) error {
	p.way, p.residual = byScan, p.where
	if isNever(p.where) {
		p.way = byNothing
		return nil
	}
	all := terms(p.where)
	for i, t := range all {
		if ids, ok := idsOf(t); ok {
			if _, isOr := t.(Or); !isOr {
				p.residual = conjunction(slices.Delete(slices.Clone(all), i, i+1))
			}
			p.way, p.ids = byIDs, ids
			return nil
		}
	}
	least := math.MaxInt
	tried := map[string]bool{except: true}
	for _, t := range all { // in the order of the terms, so that a query has one plan
		if _, null := t.(IsNull); null || isUndivided(t) {
			continue // nulls have no entries
		}
		name := leafProperty(t)
		if tried[name] || !p.schema[name].indexed {
			continue
		}
		tried[name] = true
		mine, rest := split(p.where, name)
		scan := p.rangeScan(name, mine)
		entries, narrow, err := scan.isNarrow(most)
		if err != nil {
			return err
		}
		if narrow && entries < least {
			least = entries
			p.way, p.index, p.residual = byRange, scan, rest
		}
	}
	return nil
}

// idsOf returns the external ids that a condition admits, where it lists them. An Or may have more to say of each.
func idsOf(t Predicate) (ids []kv.Value, ok bool) {
	switch t := t.(type) {
	case Compare:
		return []kv.Value{t.Value}, t.Property == propertyID && t.Op == Eq
	case In:
		return t.Values, t.Property == propertyID
	case And:
		for _, term := range t.Terms {
			if ids, ok := idsOf(term); ok {
				return ids, true
			}
		}
	case Or:
		for _, term := range t.Terms {
			more, ok := idsOf(term)
			if !ok {
				return nil, false
			}
			ids = append(ids, more...)
		}
		return ids, true
	}
	return nil, false
}

// walkIndex walks the index of the first property to order by, unless it has none of the nodes.
func (p *Plan) walkIndex() error {
	name := p.order[0].Property
	mine, rest := split(p.where, name)
	if len(mine) == 1 {
		if _, onlyNulls := mine[0].(IsNull); onlyNulls {
			return nil
		}
	}
	p.way, p.index, p.residual, p.patience = byOrderedIndex, p.rangeScan(name, mine), rest, p.patienceFor(rest)
	if len(mine) > 0 {
		return nil
	}
	tail := p.as(p.schema.mergeAnd([]Predicate{p.where, IsNull{name}}), p.order[1:])
	if err := tail.chooseSet("", p.mostNarrow()); err != nil || tail.way == byNothing {
		return err
	}
	p.tail = tail
	return nil
}

// patienceFor is how many rows a walk may read to decide by a condition. Degrees are slow to read one by one. A
// computed value takes as long in every other way.
func (p *Plan) patienceFor(where Predicate) int {
	switch {
	case isAlways(where) || asksComputed(where, p.computed):
		return math.MaxInt
	case slices.Contains(Properties(where), propertyDegree):
		return walkRows / 256
	default:
		return walkRows
	}
}

// as is the plan of another condition and order, in no way yet.
func (p *Plan) as(where Predicate, order []Order) *Plan {
	return &Plan{
		tx: p.tx, schema: p.schema, where: where, order: order, limit: p.limit, computed: p.computed, workers: p.workers,
	}
}

// unordered is the plan that finds the same nodes as a set.
func (p *Plan) unordered() (*Plan, error) {
	if p.way != byFileOrder && p.way != byOrderedIndex {
		return p, nil
	}
	set := p.as(p.where, p.order)
	return set, set.chooseSet("", p.mostNarrow())
}

// rangeScan makes the scan of a column's index that answers terms, simplified conditions on that column.
func (p *Plan) rangeScan(column string, terms []Predicate) *rangeScan {
	scan := &rangeScan{postings: openPostings(p.tx, column), terms: conjunction(terms)}
	scan.ranges, scan.accept = keyRanges(p.schema[column].kind, terms)
	return scan
}

// isNarrow counts the entries in the ranges of a scan, and reports whether they are no more than most.
func (s *rangeScan) isNarrow(most int) (entries int, narrow bool, err error) {
	if len(s.ranges) > narrowRanges {
		return 0, false, nil
	}
	for _, r := range s.ranges {
		for g, err := range s.postings.ascend(r) {
			if err != nil {
				return 0, false, err
			}
			if entries += len(g.nodes); entries > most {
				return entries, false, nil
			}
		}
	}
	return entries, true, nil
}

// terms returns the terms of an And, or p itself as the only one.
func terms(p Predicate) []Predicate {
	if and, ok := p.(And); ok {
		return and.Terms
	}
	return []Predicate{p}
}

// conjunction is the inverse of terms.
func conjunction(terms []Predicate) Predicate {
	if len(terms) == 1 {
		return terms[0]
	}
	return And{terms}
}

// split parts a simplified predicate into the conditions on one property and the rest.
func split(p Predicate, name string) (mine []Predicate, rest Predicate) {
	var others []Predicate
	for _, t := range terms(p) {
		if !isUndivided(t) && leafProperty(t) == name {
			mine = append(mine, t)
		} else {
			others = append(others, t)
		}
	}
	return mine, conjunction(others)
}
