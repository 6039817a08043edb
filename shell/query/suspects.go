package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/conformal"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// restrictToSuspects leaves those nodes of a query that are suspects above the threshold of the last run. A condition
// with score, a guarantee or a promise replaces the threshold, and one with decision finds decided nodes too. Without
// an order the highest score comes first.
func (q *query) restrictToSuspects(ctx context.Context, s *Statement, find *index.Query) error {
	run, err := q.newestRun()
	if err != nil {
		return err
	}
	q.showsScores = true
	asked := conditionOf(find)
	terms := []index.Predicate{asked}
	switch {
	case s.bound.isPromise():
		listed, err := q.promised(ctx, s)
		if err != nil {
			return err
		}
		terms = append(terms, listed)
	case s.bound != nil:
		above, err := q.guaranteeTerms(ctx, s.bound, run)
		if err != nil {
			return err
		}
		terms = append(terms, above...)
	case !speaksOf(asked, cleaner.ScoreColumn):
		terms = append(terms, cleaner.ScoreAbove(run.Threshold))
	}
	if !speaksOf(asked, decide.Column) {
		terms = append(terms, index.IsNull{Property: decide.Column})
	}
	terms = append(terms, cleaner.Disputes(math.Inf(-1)))
	find.Where = orDecided(index.And{Terms: terms}, asked, decide.DisputedColumn, decide.DecidedByColumn)
	if find.Order == nil {
		find.Order = suspectOrder
	}
	return nil
}

// suspectOrder has the highest score first.
var suspectOrder = []index.Order{{Property: cleaner.ScoreColumn, Descending: true}}

// conditionOf is the condition of a query, also if it has none.
func conditionOf(find *index.Query) index.Predicate {
	if find.Where == nil {
		return index.And{}
	}
	return find.Where
}

// speaksOf reports whether a condition has a property.
func speaksOf(condition index.Predicate, property string) bool {
	return slices.Contains(index.Properties(condition), property)
}

// orDecided joins the suspects that a condition finds with the decided nodes that it asks for, which are no suspects:
// if it has one of some properties, all nodes that meet it and have a value of this property. So disputed nodes, and
// those of one person, are found whatever their score and their label.
func orDecided(suspects, condition index.Predicate, properties ...string) index.Predicate {
	found := []index.Predicate{suspects}
	for _, property := range properties {
		if speaksOf(condition, property) {
			found = append(found, index.And{Terms: []index.Predicate{condition, hasValue(property)}})
		}
	}
	if len(found) == 1 {
		return suspects
	}
	return index.Or{Terms: found}
}

// hasValue is true of nodes for which a property is not null.
func hasValue(property string) index.Predicate {
	return index.Not{Term: index.IsNull{Property: property}}
}

// Suspects finds the nodes that the statement suspects finds with a condition, the highest score first. It returns up
// to limit nodes, and all if limit is 0. Notices are remarks on the condition for a reader. Errors are those of Query.
func Suspects(
	ctx context.Context, tx *kv.Tx, condition string, limit int,
) (nodes []kv.NodeID, notices []string, err error) {
	where, err := parseCondition(condition)
	if err := cmp.Or(err, tx.Err()); err != nil {
		return nil, nil, err
	}
	q := newQuery(ctx, tx, Options{}, nil)
	s := &Statement{rows: "suspects", clauses: clauses{where: where}}
	if limit > 0 {
		s.limit = &literal{value: kv.ValueOf(limit)}
	}
	found, err := q.find(ctx, s)
	if err == nil {
		err = q.remarkStale(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	for v, err := range found.nodes(ctx) {
		if err != nil {
			return nil, nil, err
		}
		nodes = append(nodes, v)
	}
	return nodes, q.notices, nil
}

// remarkStale says how many scores are older than changes around them, if the statement speaks of scores.
func (q *query) remarkStale(ctx context.Context) error {
	if !q.showsScores {
		return nil
	}
	run, err := q.newestRun()
	if errors.Is(err, cleaner.ErrNotCleaned) { // a repair has removed the runs
		return nil
	}
	if err != nil {
		return err
	}
	notice, err := wording.StaleScores(ctx, q.tx, run)
	q.note(notice)
	return err
}

// guaranteeTerms turns a bound on an error rate into the condition on scores that keeps it, and remarks on
// the threshold found.
func (q *query) guaranteeTerms(ctx context.Context, g *bound, run *cleaner.Run) ([]index.Predicate, error) {
	alpha, err := q.share(*g.share, "an error rate")
	if err != nil {
		return nil, err
	}
	audit, err := cleaner.ReadAudit(ctx, q.tx)
	if err != nil {
		return nil, err
	}
	rate, from := run.MislabelRate, fmt.Sprintf("assumed by run %d", run.ID)
	if audit != nil && !math.IsNaN(audit.Rate) {
		rate, from = audit.Rate, fmt.Sprintf("told by an audit of %d", audit.Look)
	}
	what, threshold := "false positive", conformal.FalsePositives
	if g.kind == "fnr" {
		what, threshold = "false negative", conformal.FalseNegatives
	}
	t, err := threshold(conformal.Stored(ctx, q.tx), rate, alpha)
	if err != nil {
		return nil, err
	}
	lambda := t.Lambda
	if math.IsInf(lambda, 0) || math.IsNaN(lambda) {
		// Rounded up, or asking for the number printed would fail again.
		digits := math.Pow(10, 3-math.Floor(math.Log10(t.MinAlpha)))
		return nil, fmt.Errorf("%s rate ≤ %g at p = %.4g: no finite threshold keeps the guarantee; the smallest rate that "+
			"has one is %.4g", what, alpha, rate, math.Ceil(t.MinAlpha*digits)/digits)
	}
	// which finds the same nodes again, as a score that is printed
	lambdaText := Exact(kv.ValueOf(lambda), kv.KindSingle)
	summary := fmt.Sprintf("%s rate ≤ %g: N = %d scores, p = %.4g (%s), λ = %s", what, alpha, t.Scores, rate, from,
		lambdaText)
	if g.kind == "fpr" {
		q.note(summary + ": score above λ")
		return []index.Predicate{index.Compare{Property: "score", Op: index.Gt, Value: kv.ValueOf(lambda)}}, nil
	}
	// λ bounds 1−score among scores above ½; see conformal.FalseNegatives.
	q.note(fmt.Sprintf("%s: score of 1−λ = %s or more; scores of 0.5 or less are not covered",
		summary, Exact(kv.ValueOf(1-lambda), kv.KindSingle)))
	return []index.Predicate{
		index.Compare{Property: "score", Op: index.Gt, Value: kv.ValueOf(0.5)},
		index.Compare{Property: "score", Op: index.Ge, Value: kv.ValueOf(1 - lambda)},
	}, nil
}
