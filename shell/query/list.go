package query

import (
	"context"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// suspectColumns are what suspects returns if the statement does not say.
var suspectColumns = []string{"id", "label", "suggested", "score", "confidence"}

// list answers suspects and nodes.
func (q *query) list(ctx context.Context, s statement) (*Result, error) {
	nodes, err := q.find(ctx, s)
	if err != nil {
		return nil, err
	}
	var columns, of []ColumnInfo
	var asked clauses
	switch s := s.(type) {
	case *suspectsStatement:
		asked = s.clauses
		columns, of, err = q.returned(asked.returned, suspectColumns, q.heldNames())
	case *nodesStatement:
		asked = s.clauses
		otherwise := q.nodeColumns()
		if s.promise != nil {
			otherwise = trustedColumns
		}
		columns, of, err = q.returned(asked.returned, otherwise, q.heldNames())
	}
	if err != nil {
		return nil, err
	}
	f, err := q.fetcher(columnNames(of))
	if err != nil {
		return nil, err
	}
	r := &Result{columns: columns, cost: cost(nodes.plan)}
	if nodes.draw == nil {
		f.plan, f.most = nodes.plan, nodes.plan.Limit()
	}
	if asked.distinct() {
		skip, most, err := q.cut(asked.limit, asked.offset)
		if err != nil {
			return nil, err
		}
		r.rows = cut(distinct(ctx, f.rows(ctx, nodes.nodes(ctx)), q.MemoryBudget), skip, most)
	} else {
		r.rows = f.rows(ctx, nodes.nodes(ctx))
	}
	q.remarkNone(ctx, r, s, false)
	return r, nil
}

// planOf plans a suspectsStatement or nodesStatement. Errors of types point into the text.
func (q *query) planOf(ctx context.Context, s statement) (*index.Plan, error) {
	var find index.Query
	var err error
	switch s := s.(type) {
	case *suspectsStatement:
		find, err = q.suspectQuery(ctx, s)
	case *nodesStatement:
		find, err = q.nodeQuery(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	plan, err := index.NewPlan(q.tx, find)
	return plan, q.locate(err)
}

// nodeColumns are what nodes returns if the statement does not say: id, label, degree, split if the
// nodes were split, and the user's columns.
func (q *query) nodeColumns() []string {
	names := []string{"id", "label", "degree"}
	if _, ok := q.tx.Column("split"); ok {
		names = append(names, "split")
	}
	return append(names, UserColumns(q.tx)...)
}

// UserColumns returns the names of the columns that are not built in.
func UserColumns(tx *kv.Tx) []string {
	var names []string
	for _, c := range tx.Columns() {
		if !slices.Contains(cleaner.ReservedNames, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// cost tells what answering from a plan took, once its rows were read.
func cost(plan *index.Plan) func() string {
	return func() string {
		t := plan.Reads()
		return fmt.Sprintf("%d index entries, %d rows fetched, %d blocks scanned, %d skipped",
			t.IndexEntries, t.Rows, t.Blocks, t.SkippedBlocks)
	}
}

// explainPlan answers plan. It finds the rows, so that their number and what was read are told too.
func (q *query) explainPlan(ctx context.Context, of statement) (*Result, error) {
	count, counts := of.(*countStatement)
	if counts {
		of = count.of
	}
	nodes, err := q.find(ctx, of)
	if err != nil {
		return nil, err
	}
	var rows int64
	if counts && count.groupBy == nil && count.totals == nil {
		rows, err = nodes.plan.Count(ctx)
	} else {
		rows, err = nodes.walk(ctx)
	}
	if err != nil {
		return nil, err
	}
	text := nodes.plan.String()
	if nodes.draw != nil {
		text += "\n" + nodes.draw.String()
	}
	text += q.surroundings.String()
	text += "\nfound " + wording.Count(rows, "row", "rows")
	r := NewTable([]ColumnInfo{{Name: "plan", Kind: kv.KindString}}, [][]kv.Value{{kv.ValueOf(text)}})
	r.Bare = true
	return r, nil
}
