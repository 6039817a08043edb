package query

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// remarkNone adds to the notices of a result why its rows are none. A row that counts nothing is none.
func (q *query) remarkNone(ctx context.Context, r *Result, of statement, counts bool) {
	rows := r.rows
	r.rows = func(yield func([]kv.Value, error) bool) {
		found := false
		for row, err := range rows {
			found = found || err != nil || !counts || row[0].Int() > 0
			if !yield(row, err) {
				return
			}
		}
		if found {
			return
		}
		reason, err := q.whyNone(ctx, of)
		if err != nil {
			yield(nil, err)
			return
		}
		r.notices = append(r.notices, reason...)
	}
}

// whyNone says why a suspectsStatement or nodesStatement has found nothing: no score is as high as its condition asks,
// or the nodes of the condition are decided and no suspects any more. It has nothing to say of other conditions.
func (q *query) whyNone(ctx context.Context, s statement) (reason []string, err error) {
	_, isSuspects := s.(*suspectsStatement)
	asked := clausesOf(s)
	if asked.where == nil || asked.offset != nil || asked.limit != nil && asked.limit.integer == 0 {
		return nil, nil // nor of rows that are left out
	}
	again := newResolver(ctx, q.tx, q.Options, q.args)
	where, err := again.predicate(asked.where)
	if err != nil {
		return nil, err
	}
	speaks := index.Properties(where)
	if isSuspects && slices.Contains(speaks, decide.Column) {
		decided, err := index.NewPlan(q.tx, index.Query{
			Where: index.And{Terms: []index.Predicate{where, hasValue(decide.Column)}}, Limit: -1,
			Computed: again.computed, Workers: q.workers,
		})
		if err != nil {
			return nil, err
		}
		n, err := decided.Count(ctx)
		if n == 0 || err != nil {
			return nil, err
		}
		return []string{wording.Count(n,
			"decided node meets the condition but is no suspect, as its label is the suggestion or its score is low",
			"decided nodes meet the condition but are no suspects, as their labels are the suggestions or their scores are low",
		) + ": write nodes instead of suspects"}, nil
	}
	if !slices.ContainsFunc(again.constants,
		func(c constant) bool { return c.property == cleaner.ScoreColumn || c.other == cleaner.ScoreColumn }) {
		return nil, nil // score is null is no bound
	}
	lowest, err := q.extremeScore(ctx, false)
	if err != nil || math.IsNaN(lowest) {
		return nil, err
	}
	highest, err := q.extremeScore(ctx, true)
	if err != nil {
		return nil, err
	}
	run, err := q.newestRun()
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("nothing found: the scores go from %.3g to %.3g, the threshold is %.4g", lowest, highest,
		run.Threshold)
	if op, bound := scoreBound(where); op != index.Eq &&
		(bound.Float() > highest || op == index.Gt && bound.Float() == highest) {
		that := "above " + Exact(bound, kv.KindSingle)
		if op == index.Ge {
			that = Exact(bound, kv.KindSingle) + " or more"
		}
		text = fmt.Sprintf("no score is %s: the highest is %.3g, the threshold %.4g", that, highest, run.Threshold)
	}
	return []string{text}, nil
}

// extremeScore is the highest or the lowest score of the store, NaN without scores.
func (q *query) extremeScore(ctx context.Context, highest bool) (float64, error) {
	plan, err := index.NewPlan(q.tx, index.Query{
		Where: hasValue(cleaner.ScoreColumn),
		Order: []index.Order{{Property: cleaner.ScoreColumn, Descending: highest}}, Limit: 1, Workers: q.workers,
	})
	if err != nil {
		return 0, err
	}
	for v, err := range plan.Rows(ctx) {
		if err != nil {
			return 0, err
		}
		score, err := q.tx.Value(v, cleaner.ScoreColumn)
		return score.Float(), err
	}
	return math.NaN(), nil
}

// scoreBound is the highest bound that a condition sets below scores, and whether by Gt or Ge. Without one, the
// operator is Eq.
func scoreBound(where index.Predicate) (op index.Op, bound kv.Value) {
	switch p := where.(type) {
	case index.Compare:
		if p.Property == cleaner.ScoreColumn && (p.Op == index.Gt || p.Op == index.Ge) {
			return p.Op, p.Value
		}
	case index.And:
		for _, term := range p.Terms {
			if of, at := scoreBound(term); of != index.Eq && (op == index.Eq || at.Float() > bound.Float()) {
				op, bound = of, at
			}
		}
	}
	return op, bound
}
