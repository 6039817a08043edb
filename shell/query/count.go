package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

var countColumn = ColumnInfo{Name: "count", Kind: kv.KindInt}

// count answers a count of nodes.
func (q *query) count(ctx context.Context, s *listStatement) (*Result, error) {
	found, err := q.find(ctx, s)
	if err != nil {
		return nil, err
	}
	var r *Result
	if s.groupBy == nil && s.totals == nil {
		n, wrong := found.plan.Count(ctx)
		r, err = NewTable([]ColumnInfo{countColumn}, [][]kv.Value{{kv.ValueOf(n)}}), wrong
	} else {
		r, err = q.countGroups(ctx, s, found.plan)
	}
	if err != nil {
		return nil, err
	}
	r.cost = cost(found.plan)
	q.remarkNone(ctx, r, s.groupBy == nil)
	return r, nil
}

// countGroups counts the nodes of a plan in groups: those of whole blocks on several goroutines, unless the store does not have the values.
func (q *query) countGroups(ctx context.Context, s *listStatement, plan *index.Plan) (*Result, error) {
	asked, err := q.grouping(s.clauses)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(asked.read, func(name string) bool { return q.computed[name].At != nil }) {
		g := newGroups(asked, q.MemoryBudget, plan.Workers())
		return g.answer(ctx, asked, g.addBlocks(ctx, q.tx, plan, asked.read))
	}
	f, err := q.fetcher(asked.read)
	if err != nil {
		return nil, err
	}
	g := newGroups(asked, q.MemoryBudget, 1)
	return g.answer(ctx, asked, g.addAll(f.rows(ctx, plan.Unordered(ctx))))
}

// countHistory answers a count of the history.
func (q *query) countHistory(ctx context.Context, s *historyStatement) (*Result, error) {
	q.ofHistory()
	asked, err := q.grouping(s.clauses)
	if err != nil {
		return nil, err
	}
	find, err := q.rowQuery(clauses{where: s.where}, asked.read, nil)
	if err != nil {
		return nil, err
	}
	rows := find.answer(ctx, q.historyRows(ctx, kv.NoNode, decide.History(ctx, q.tx, kv.NoNode), columnNames(find.read)), 0).rows
	g := newGroups(asked, q.MemoryBudget, 1)
	return g.answer(ctx, asked, g.addAll(rows))
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
	return &Result{columns: asked.columns, rows: cut(g.sorter.rows(ctx), asked.skip, asked.most), release: g.release}, nil
}

// A grouping is how a count groups rows. The rows of groups have the properties of group by, the count, and the totals.
type grouping struct {
	by      int          // how many properties tell groups apart
	columns []ColumnInfo // of the answer
	read    []string     // properties to read of each row, those of group by first
	tallies []tallyOf
	order   []rowOrder

	skip, most int // of the groups; −1 is all
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
			return nil, &ResolveError{Pos: by.pos, Msg: by.String() + " is named twice"}
		}
		g.columns, g.read = append(g.columns, column), append(g.read, column.Name)
	}
	g.columns = append(g.columns, countColumn)
	for _, t := range c.totals {
		of, err := q.tally(t, g)
		if err != nil {
			return nil, err
		}
		column := ColumnInfo{Name: t.String(), Kind: of.kind()}
		if slices.Contains(g.columns, column) {
			return nil, &ResolveError{Pos: t.pos, Msg: column.Name + " is returned twice"}
		}
		g.columns, g.tallies = append(g.columns, column), append(g.tallies, of)
	}
	for _, term := range c.order {
		place := slices.IndexFunc(g.columns, func(c ColumnInfo) bool { return c.Name == term.by.text })
		if place < 0 {
			return nil, &ResolveError{Pos: term.by.pos, Msg: fmt.Sprintf(
				"groups have no %s to order by: want one of %s", term.by, joinNames(columnNames(g.columns)))}
		}
		g.order = append(g.order, rowOrder{place, term.descending})
	}
	if c.order == nil {
		g.order = []rowOrder{{column: g.by, descending: true}} // the largest group first
	}
	var err error
	g.skip, g.most, err = q.cut(c)
	return g, err
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
