package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

var countColumn = ColumnInfo{Name: "count", Kind: kv.KindInt}

// count answers count.
func (q *query) count(ctx context.Context, s *countStatement) (*Result, error) {
	if of, ok := s.of.(*historyStatement); ok {
		return q.countHistory(ctx, s, of)
	}
	nodes, err := q.find(ctx, s.of)
	if err != nil {
		return nil, err
	}
	if s.groupBy == nil && s.totals == nil {
		n, err := nodes.plan.Count(ctx)
		r := NewTable([]ColumnInfo{countColumn}, [][]kv.Value{{kv.ValueOf(n)}})
		r.cost = cost(nodes.plan)
		q.remarkNone(ctx, r, s.of, true)
		return r, err
	}
	asked, err := q.grouping(s)
	if err != nil {
		return nil, err
	}
	r, err := q.groupNodes(ctx, asked, nodes)
	if err != nil {
		return nil, err
	}
	r.cost = cost(nodes.plan)
	q.remarkNone(ctx, r, s.of, asked.by == 0)
	return r, nil
}

// countHistory answers a count of the history.
func (q *query) countHistory(ctx context.Context, s *countStatement, of *historyStatement) (*Result, error) {
	q.ofHistory()
	asked, err := q.grouping(s)
	if err != nil {
		return nil, err
	}
	find, err := q.rowQuery(of.clauses, asked.read, nil)
	if err != nil {
		return nil, err
	}
	rows := find.answer(ctx, q.historyRows(ctx, kv.NoNode, decide.History(ctx, q.tx, kv.NoNode),
		columnNames(find.read)), 0)
	g := newGroups(asked, q.MemoryBudget, 1)
	return g.answer(ctx, asked, g.addAll(rows))
}

// groupNodes counts nodes in groups: those of whole blocks on several goroutines, unless values are not those that the store has.
func (q *query) groupNodes(ctx context.Context, asked *grouping, nodes *finding) (*Result, error) {
	areStored := !slices.ContainsFunc(asked.read, func(name string) bool { return q.computed[name].At != nil })
	if nodes.whole && areStored {
		g := newGroups(asked, q.MemoryBudget, nodes.plan.Workers())
		return g.answer(ctx, asked, g.addBlocks(ctx, q.tx, nodes.plan, asked.read))
	}
	f, err := q.fetcher(asked.read)
	if err != nil {
		return nil, err
	}
	g := newGroups(asked, q.MemoryBudget, 1)
	return g.answer(ctx, asked, g.addAll(f.rows(ctx, nodes.set(ctx))))
}

// answer is the answer to a count once all rows are counted, err the error of that.
func (g *groups) answer(ctx context.Context, asked *grouping, err error) (*Result, error) {
	if err == nil && asked.by == 0 { // there is one group, also of no rows
		err = g.addNone()
	}
	if err == nil {
		err = g.sort(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	rows := func(yield func([]kv.Value, error) bool) {
		for row, err := range g.rows(ctx) {
			if err == nil {
				row = row[:len(asked.columns)]
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
	return &Result{columns: asked.columns, rows: cut(rows, asked.skip, asked.most), release: g.release}, nil
}

// A grouping is what a countStatement asks of groups. Their rows have the properties of group by, the count, the totals of the statement, and
// then those that only the order needs.
type grouping struct {
	by      int          // how many properties tell groups apart
	columns []ColumnInfo // of the answer
	read    []string     // properties to read of each node, those of group by first
	tallies []tallyOf
	order   []groupOrder

	skip, most int // of the groups; −1 is all
}

// grouping resolves the groups, totals, order and limit of a count.
func (q *query) grouping(s *countStatement) (*grouping, error) {
	g := &grouping{by: len(s.groupBy)}
	for _, by := range s.groupBy {
		column, err := q.property(by)
		if err != nil {
			return nil, err
		}
		if slices.Contains(g.columns, column) {
			return nil, &ResolveError{Pos: by.pos, Msg: by.String() + " is named twice"}
		}
		g.columns, g.read = append(g.columns, column), append(g.read, column.Name)
	}
	g.columns = append(g.columns, countColumn)
	for _, t := range s.totals {
		of, err := q.tally(t, g)
		if err != nil {
			return nil, err
		}
		column := ColumnInfo{Name: t.String(), Kind: of.kind()}
		if t.as != nil {
			column.Name = t.as.text
		}
		if slices.ContainsFunc(g.columns, func(c ColumnInfo) bool { return c.Name == column.Name }) {
			return nil, &ResolveError{Pos: t.pos, Msg: column.Name + " is returned twice"}
		}
		g.columns, g.tallies = append(g.columns, column), append(g.tallies, of)
	}
	for _, term := range s.order {
		place, err := q.groupColumn(term, g)
		if err != nil {
			return nil, err
		}
		g.order = append(g.order, groupOrder{place, term.descending})
	}
	if s.order == nil {
		g.order = []groupOrder{{column: g.by, descending: true}} // the largest group first
	}
	var err error
	g.skip, g.most, err = q.cut(s.limit, s.offset)
	return g, err
}

// groupColumn finds the place in the rows of groups of what they are ordered by. A total that is not returned gets a place behind the others.
func (q *query) groupColumn(term orderTerm, g *grouping) (int, error) {
	if term.total == nil {
		place := slices.IndexFunc(g.columns, func(c ColumnInfo) bool { return c.Name == term.by.text })
		if place < 0 && strings.EqualFold(term.by.text, countColumn.Name) {
			return g.by, nil
		}
		if place < 0 {
			return 0, &ResolveError{Pos: term.by.pos, Msg: fmt.Sprintf(
				"groups have no %s to order by: want one of %s, or min, max, avg or sum of a property", term.by, joinNames(columnNames(g.columns)))}
		}
		return place, nil
	}
	of, err := q.tally(*term.total, g)
	if err != nil {
		return 0, err
	}
	before := g.by + 1
	if same := slices.Index(g.tallies, of); same >= 0 {
		return before + same, nil
	}
	g.tallies = append(g.tallies, of)
	return before + len(g.tallies) - 1, nil
}

// tally resolves a total, and adds its property to those that are read.
func (q *query) tally(t total, g *grouping) (tallyOf, error) {
	column, err := q.property(t.of)
	if err != nil {
		return tallyOf{}, err
	}
	of := tallyOf{function: t.function, column: column}
	if of.sums() && !slices.Contains([]kv.Kind{kv.KindInt, kv.KindFloat, kv.KindSingle}, column.Kind) {
		return of, &ResolveError{Pos: t.of.pos, Msg: fmt.Sprintf("%s is no number: %s wants one, min and max take any property", t.of, t.function)}
	}
	if of.value = slices.Index(g.read, column.Name); of.value < 0 {
		of.value = len(g.read)
		g.read = append(g.read, column.Name)
	}
	return of, nil
}

// kind is the kind of what the tally comes to.
func (o tallyOf) kind() kv.Kind {
	if o.function == "avg" || o.function == "sum" && o.column.Kind != kv.KindInt {
		return kv.KindFloat
	}
	return o.column.Kind
}

// String is the total as the language has it, which names its column.
func (t *total) String() string { return t.function + "(" + t.of.String() + ")" }

// walk counts the nodes by finding them one by one, in order.
func (f *finding) walk(ctx context.Context) (n int64, err error) {
	for _, err := range f.nodes(ctx) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}
