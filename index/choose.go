package index

import (
	"cmp"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A planner weighs the ways to answer one query.
type planner struct {
	tx      *kv.Tx
	schema  schema
	n       float64 // nodes
	workers int     // of a scan
	reader  *reader // of sampled values
	stats   map[string]statistics
	scans   map[string]*rangeScan // made so far, by column and conditions
	shares  map[string]float64    // estimated so far, by condition
}

func newPlanner(tx *kv.Tx, s schema, q Query) *planner {
	return &planner{
		tx: tx, schema: s, n: float64(tx.NumPresent()), workers: q.Workers, reader: newReader(tx, q.Computed),
		stats: map[string]statistics{}, scans: map[string]*rangeScan{}, shares: map[string]float64{},
	}
}

// choose weighs the ways to answer a simplified query.
func (pl *planner) choose(where Predicate, order []Order, limit int) (*Plan, error) {
	match, cost, err := pl.chooseMatch(where)
	if err != nil || match.way == byNothing {
		return match, err
	}
	match.order, match.limit = order, limit
	var walk *Plan
	var costOf func(limit int, share float64) float64
	if len(order) > 0 && pl.schema[order[0].Property].indexed {
		if walk, costOf, err = pl.orderedIndex(where, order, limit); err != nil {
			return nil, err
		}
		// A walk that costs less even to its end is chosen whatever share of it matches. That share is not asked for: values may be read for it.
		if walk != nil && costOf(-1, 1) < cost {
			return walk.before(match, cost), nil
		}
	}
	rows, err := pl.matching(match)
	if err != nil {
		return nil, err
	}
	cost += pl.arrangeCost(rows, order)
	otherCost := math.Inf(1)
	if len(order) == 0 {
		walk, otherCost = pl.fileOrder(where, rows, limit)
	} else if walk != nil {
		share, err := pl.share(walk.residual)
		if err != nil {
			return nil, err
		}
		otherCost = costOf(limit, share)
	}
	if otherCost < cost {
		return walk.before(match, cost), nil
	}
	return match, nil
}

// before has a walk give way to match, which costs so much. A walk without a limit does not: it has one length, which is known.
func (p *Plan) before(match *Plan, cost float64) *Plan {
	p.match = match
	if p.limit >= 0 {
		p.patience = cost + p.saved
	}
	return p
}

// matching estimates how many nodes match, by the plan that finds them as a set.
func (pl *planner) matching(match *Plan) (float64, error) {
	switch match.way {
	case byNothing:
		return 0, nil
	case bySource:
		share, err := pl.share(match.residual)
		return match.source.estimate().rows * share, err
	default:
		share, err := pl.share(match.where)
		return share * pl.n, err
	}
}

// arrangeCost is the cost of putting rows in order.
func (pl *planner) arrangeCost(rows float64, order []Order) float64 {
	if len(order) == 0 {
		return pl.positionsCost(rows)
	}
	return readCost(pl.n, rows, orderNames(order)) + sortCost*rows
}

func orderNames(order []Order) []string {
	var names []string
	for _, o := range order {
		names = append(names, o.Property)
	}
	return names
}

// newPlan fills in what all ways share.
func (pl *planner) newPlan(w way, where Predicate, order []Order, limit int) *Plan {
	return &Plan{
		tx: pl.tx, planner: pl, way: w, where: where, residual: where, order: order, limit: limit, patience: math.Inf(1),
		computed: pl.reader.computed, workers: pl.workers,
	}
}

// chooseMatch finds the cheapest way to the set of matching nodes: through the indexes, or a scan.
func (pl *planner) chooseMatch(where Predicate) (*Plan, float64, error) {
	if isNever(where) {
		return pl.newPlan(byNothing, where, nil, -1), 0, nil
	}
	scan := pl.newPlan(byScan, where, nil, -1)
	scanCost, err := pl.scanCost(where)
	if err != nil {
		return nil, 0, err
	}
	a, ok, err := pl.access(where)
	if err != nil {
		return nil, 0, err
	}
	if ok {
		if cost := a.cost(pl); cost < scanCost {
			plan := pl.newPlan(bySource, where, nil, -1)
			plan.source, plan.residual = a.source, a.residual
			return plan, cost, nil
		}
	}
	return scan, scanCost, nil
}

// fileOrder walks the nodes as the file has them, which needs no arranging and may stop at the limit.
func (pl *planner) fileOrder(where Predicate, matching float64, limit int) (*Plan, float64) {
	plan := pl.newPlan(byFileOrder, where, nil, limit)
	rows := pl.n * pl.walkShare(limit, matching)
	return plan, pl.walkCost(rows, pl.n, fileCost, Properties(where))
}

// walkShare is the share of a walk over matching rows that is over when limit of them are found.
func (pl *planner) walkShare(limit int, matching float64) float64 {
	if limit < 0 {
		return 1
	}
	return min(1, float64(limit)/max(1, matching))
}

// orderedIndex walks the index of the first property to order by, and tells what that costs up to a limit if a share of the entries passes the
// residual. The plan is nil if the index has none of the nodes.
func (pl *planner) orderedIndex(
	where Predicate, order []Order, limit int,
) (plan *Plan, cost func(limit int, share float64) float64, err error) {
	name := order[0].Property
	mine, rest := split(where, name)
	if len(mine) == 1 {
		if _, onlyNulls := mine[0].(IsNull); onlyNulls {
			return nil, nil, nil
		}
	}
	scan, err := pl.rangeScan(name, mine)
	if err != nil {
		return nil, nil, err
	}
	plan = pl.newPlan(byOrderedIndex, where, order, limit)
	plan.source, plan.residual = scan, rest
	if len(mine) == 0 {
		if err := pl.addTail(plan); err != nil {
			return nil, nil, err
		}
	}
	stats, err := pl.statistics(name)
	if err != nil {
		return nil, nil, err
	}
	saved := func(float64) float64 { return 0 }
	if order[0].Descending {
		if saved, err = pl.savedByCopies(scan, stats, Properties(rest)); err != nil {
			return nil, nil, err
		}
		plan.saved = saved(scan.cost.entries)
	}
	return plan, func(limit int, share float64) float64 {
		// The group of equal values in which the limit is reached is read to its end, and put in order.
		rows := pl.walkShare(limit, scan.cost.rows*share)
		entries := min(scan.cost.entries, rows*scan.cost.entries+stats.tieSize())
		cost := seekCost*scan.cost.seeks + pl.walkCost(entries, scan.cost.entries, entryCost, Properties(rest)) - saved(entries)
		if stats.tieSize() > 1 {
			rows := entries * share * scan.cost.rows / max(1, scan.cost.entries)
			cost += pl.arrangeCost(rows, order[1:])
		}
		if plan.tail != nil && rows == 1 {
			cost += readCost(pl.n, pl.n, Properties(plan.tail.where))
		}
		return cost
	}, nil
}

// addTail plans the nodes that have no value in the index, which come last.
func (pl *planner) addTail(plan *Plan) error {
	where := pl.schema.mergeAnd([]Predicate{plan.where, IsNull{plan.order[0].Property}})
	tail, _, err := pl.chooseMatch(where)
	if err != nil || tail.way == byNothing {
		return err
	}
	tail.order, tail.limit = plan.order[1:], plan.limit
	plan.tail = tail
	return nil
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

// An access is a source together with what it leaves to be looked up in rows.
type access struct {
	source   source
	residual Predicate
}

// cost is that of finding the set and of reading what is left to be decided.
func (a access) cost(pl *planner) float64 {
	e := a.source.estimate()
	return e.cost() + readCost(pl.n, e.rows, Properties(a.residual))
}

// access finds a source for a simplified predicate; ok is false when no index helps.
func (pl *planner) access(p Predicate) (a access, ok bool, err error) {
	if or, isOr := p.(Or); isOr && len(or.Terms) > 0 {
		return pl.unionOf(or)
	}
	candidates, err := pl.candidates(p)
	if err != nil || len(candidates) == 0 {
		return access{}, false, err
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Compare(a.source.estimate().rows, b.source.estimate().rows)
	})
	return pl.intersect(terms(p), candidates), true, nil
}

// A candidate is a source that answers some of the terms of an And.
type candidate struct {
	source  source
	answers []int // terms, by their number
}

// candidates lists every source that helps with an And.
func (pl *planner) candidates(p Predicate) ([]candidate, error) {
	var out []candidate
	all := terms(p)
	byColumn := map[string][]int{}
	for i, t := range all {
		if or, isOr := t.(Or); isOr {
			a, ok, err := pl.unionOf(or)
			if err != nil {
				return nil, err
			}
			if ok {
				c := candidate{source: a.source}
				if isAlways(a.residual) {
					c.answers = []int{i}
				}
				out = append(out, c)
			}
			continue
		}
		name := leafProperty(t)
		if ids, ok := idsOf(t); ok {
			out = append(out, candidate{&lookup{ids}, []int{i}})
		} else if _, null := t.(IsNull); pl.schema[name].indexed && !null {
			byColumn[name] = append(byColumn[name], i)
		}
	}
	for i, t := range all { // in the order of the terms, so that a query has one plan
		if isUndivided(t) {
			continue
		}
		name := leafProperty(t)
		places := byColumn[name]
		if len(places) == 0 || places[0] != i {
			continue
		}
		var mine []Predicate
		for _, place := range places {
			mine = append(mine, all[place])
		}
		scan, err := pl.rangeScan(name, mine)
		if err != nil {
			return nil, err
		}
		out = append(out, candidate{scan, places})
	}
	return out, nil
}

// idsOf returns the external ids that a condition admits, where it lists them.
func idsOf(t Predicate) ([]kv.Value, bool) {
	switch t := t.(type) {
	case Compare:
		return []kv.Value{t.Value}, t.Property == propertyID && t.Op == Eq
	case In:
		return t.Values, t.Property == propertyID
	}
	return nil, false
}

// maxJoins is how many candidates are looked at, those of fewest rows: a further one hardly leaves out more.
const maxJoins = 32

// intersect takes the candidate of fewest rows and joins others to it while that saves more reading of rows than it
// costs. There is at least one candidate.
func (pl *planner) intersect(all []Predicate, candidates []candidate) access {
	answered := make([]bool, len(all))
	for _, i := range candidates[0].answers {
		answered[i] = true
	}
	parts := []source{candidates[0].source}
	best := access{parts[0], restOf(all, answered)}
	rows := parts[0].estimate().rows
	cost := best.cost(pl)
	for _, c := range candidates[1:min(len(candidates), maxJoins)] {
		also := slices.Clone(answered)
		for _, i := range c.answers {
			also[i] = true
		}
		e := c.source.estimate()
		both := rows * min(1, e.rows/max(1, pl.n))
		rest := restOf(all, also)
		spending := e.cost()
		for _, part := range parts {
			spending += part.estimate().cost()
		}
		if with := spending + readCost(pl.n, both, Properties(rest)); with < cost {
			parts = append(slices.Clone(parts), c.source)
			best, cost, rows, answered = access{&intersection{parts}, rest}, with, both, also
		}
	}
	return best
}

// restOf joins the terms that no source answers.
func restOf(all []Predicate, answered []bool) Predicate {
	var rest []Predicate
	for i, t := range all {
		if !answered[i] {
			rest = append(rest, t)
		}
	}
	return conjunction(rest)
}

// unionOf finds a source for every term of an Or, which all must have.
func (pl *planner) unionOf(or Or) (a access, ok bool, err error) {
	var parts []source
	residual := always
	for _, t := range or.Terms {
		part, ok, err := pl.access(t)
		if err != nil || !ok {
			return access{}, false, err
		}
		if !isAlways(part.residual) {
			residual = or
		}
		parts = append(parts, part.source)
	}
	return access{&union{parts}, residual}, true, nil
}
