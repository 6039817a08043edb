package query

import (
	"context"
	"errors"
	"math"
	"math/big"
	"slices"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

var countColumn = ColumnInfo{Name: "count", Kind: kv.KindInt}

// count answers a count.
func (q *query) count(ctx context.Context, s *Statement) (*Result, error) {
	if s.rows == "history" {
		return q.countHistory(ctx, s)
	}
	found, err := q.find(ctx, s)
	if err != nil {
		return nil, err
	}
	if s.groupBy != nil || s.totals != nil {
		return q.countGroups(ctx, s, found.plan)
	}
	n, err := found.plan.Count(ctx)
	return NewTable([]ColumnInfo{countColumn}, [][]kv.Value{{kv.ValueOf(n)}}), err
}

// countGroups counts the nodes of a plan in groups: those of whole blocks on several goroutines.
func (q *query) countGroups(ctx context.Context, s *Statement, plan *index.Plan) (*Result, error) {
	asked, err := q.grouping(s.clauses)
	if err != nil {
		return nil, err
	}
	f, err := q.fetcher(asked.read)
	return q.grouped(asked, plan.Workers(), func(g *groups) error {
		if len(g.tables) < plan.Workers() {
			return g.addAll(f.rows(ctx, plan.Unordered(ctx)))
		}
		return g.addBlocks(ctx, plan, f, q.Progress)
	}), err
}

// countHistory answers a count of the history.
func (q *query) countHistory(ctx context.Context, s *Statement) (*Result, error) {
	q.ofHistory()
	asked, err := q.grouping(s.clauses)
	if err != nil {
		return nil, err
	}
	find, err := q.rowQuery(clauses{where: s.where}, asked.read, nil)
	if err != nil {
		return nil, err
	}
	rows := find.answer(q.columns, q.historyRows(ctx, kv.NoNode), 0).rows
	return q.grouped(asked, 1, func(g *groups) error { return g.addAll(rows) }), nil
}

// grouped is the Result of groups, whose rows add counts once the Result is read.
func (q *query) grouped(asked *grouping, workers int, add func(*groups) error) *Result {
	return NewResult(asked.columns, func(yield func([]kv.Value, error) bool) {
		g := newGroups(asked, q.MemoryBudget, workers)
		err := add(g)
		if errors.Is(err, errManyGroups) && workers > 1 { // each goroutine may have met nearly all of them
			g = newGroups(asked, q.MemoryBudget, 1)
			err = add(g)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		first(sorted(g.rows(), asked.order, -1, math.MaxInt64), asked.most)(yield)
	})
}

// A grouping is how a count groups rows. The rows of groups have the properties of group by, the count, and the totals.
type grouping struct {
	by      int          // how many properties tell groups apart
	columns []ColumnInfo // of the answer
	read    []string     // properties to read of each row, those of group by first
	tallies []tallyOf
	order   []rowOrder
	most    int // of the groups; −1 is all
}

// grouping resolves the groups, totals, order and limit of a count.
func (q *query) grouping(c clauses) (*grouping, error) {
	g := &grouping{by: len(c.groupBy)}
	for _, by := range c.groupBy {
		column, err := q.property(by)
		if err != nil {
			return nil, err
		}
		if slices.Contains(g.columns, column) {
			return nil, faultAt(by.pos, "%s is named twice", by)
		}
		g.columns, g.read = append(g.columns, column), append(g.read, column.Name)
	}
	g.columns = append(g.columns, countColumn)
	for _, t := range c.totals {
		of, err := q.tally(t, g)
		if err != nil {
			return nil, err
		}
		column := ColumnInfo{Name: t.text, Kind: of.kind()}
		if slices.Contains(g.columns, column) {
			return nil, faultAt(t.pos, "%s is returned twice", column.Name)
		}
		g.columns, g.tallies = append(g.columns, column), append(g.tallies, of)
	}
	for _, term := range c.order {
		place := slices.IndexFunc(g.columns, func(c ColumnInfo) bool { return c.Name == term.by.text })
		if place < 0 {
			return nil, faultAt(term.by.pos, "groups have no %s to order by: want one of %s", term.by,
				joinNames(columnNames(g.columns)))
		}
		g.order = append(g.order, rowOrder{place, term.descending})
	}
	if c.order == nil {
		g.order = []rowOrder{{column: g.by, descending: true}} // the largest group first
	}
	for i := range g.by { // and equal ones by their values
		g.order = append(g.order, rowOrder{column: i})
	}
	var err error
	g.most, err = q.limit(c)
	return g, err
}

// tally resolves a total, and adds its property to those that are read.
func (q *query) tally(t name, g *grouping) (tallyOf, error) {
	column, err := q.property(*t.of)
	if err != nil {
		return tallyOf{}, err
	}
	of := tallyOf{function: t.function, column: column}
	if of.sums() && !slices.Contains([]kv.Kind{kv.KindInt, kv.KindFloat, kv.KindSingle}, column.Kind) {
		return of, faultAt(t.of.pos, "%s is no number: %s wants one, min and max take any property", t.of, t.function)
	}
	if of.value = slices.Index(g.read, column.Name); of.value < 0 {
		of.value = len(g.read)
		g.read = append(g.read, column.Name)
	}
	return of, nil
}

// kind is the kind of the tally's result.
func (o tallyOf) kind() kv.Kind {
	if o.function == "avg" || o.function == "sum" && o.column.Kind != kv.KindInt {
		return kv.KindFloat
	}
	return o.column.Kind
}

// An exactSum adds numbers without rounding. So the sum does not depend on the order of the numbers, nor on the
// goroutines that added some of them up.
type exactSum struct {
	finite   big.Float
	near     float64 // of the last numbers, as long as no digit is lost: most sums need no more
	infinite float64 // the sum of infinite numbers, 0 if there are none
	term     big.Float
}

// exactBits hold any sum: numbers have bits from 2^-1074 to 2^1023, and fewer than 2^63 are added.
const exactBits = 2200

func newExactSum() *exactSum {
	s := &exactSum{}
	s.finite.SetPrec(exactBits)
	s.term.SetPrec(64)
	return s
}

// add adds an integer or a float.
func (s *exactSum) add(value kv.Value) {
	x := value.Float()
	switch sum := s.near + x; {
	case value.Kind() == kv.KindInt && math.Abs(x) >= 1<<53:
		s.finite.Add(&s.finite, s.term.SetInt64(value.Int()))
	case math.IsInf(x, 0) || math.IsNaN(x):
		s.infinite += x
	case sum-s.near == x && sum-x == s.near: // nothing was rounded
		s.near = sum
	default:
		s.flush()
		s.near = x
	}
}

// flush leaves nothing in near.
func (s *exactSum) flush() {
	s.finite.Add(&s.finite, s.term.SetFloat64(s.near))
	s.near = 0
}

// mean is the number nearest to the sum divided by n, NaN if infinite numbers of both signs are in the sum.
func (s *exactSum) mean(n int64) float64 {
	if s.infinite != 0 {
		return s.infinite
	}
	s.flush()
	mean := new(big.Float).SetPrec(exactBits)
	x, _ := mean.Quo(&s.finite, new(big.Float).SetInt64(n)).Float64()
	return x
}

// integer is the sum of integers; fits is false if it is beyond the range of an integer.
func (s *exactSum) integer() (n int64, fits bool) {
	s.flush()
	n, accuracy := s.finite.Int64()
	return n, accuracy == big.Exact
}

// merge adds another sum.
func (s *exactSum) merge(other *exactSum) {
	s.infinite += other.infinite
	other.flush()
	s.finite.Add(&s.finite, &other.finite)
}
