package query

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// suspectQuery says which nodes suspects finds: those of cleaner.Suspects above the threshold of the last run, with two
// parts of that definition left out where the condition speaks of them itself: the threshold where it speaks of score, or a
// guarantee or a promise is asked for, and that nobody has decided where it speaks of decision. Where the condition speaks of disputed or
// decided_by, decided nodes come in addition: see orDecided. Without an order the highest score comes first.
func (q *query) suspectQuery(ctx context.Context, s *suspectsStatement) (index.Query, error) {
	run, err := q.newestRun()
	if err != nil {
		return index.Query{}, err
	}
	find, err := q.query(s.clauses)
	if err != nil {
		return find, err
	}
	q.showsScores = true
	where := find.Where
	if where == nil {
		where = index.And{}
	}
	switch {
	case s.promise != nil:
		listed, err := q.promised(ctx, s.promise, s.clauses)
		if err != nil {
			return find, err
		}
		where = index.And{Terms: []index.Predicate{listed, where}}
	case s.guarantee != nil:
		above, err := q.guaranteeTerms(ctx, s.guarantee, run)
		if err != nil {
			return find, err
		}
		where = index.And{Terms: append(above, where)}
	default:
		where = unlessSpoken(where, cleaner.ScoreColumn, cleaner.ScoreAbove(run.Threshold))
	}
	where = unlessSpoken(where, decide.Column, index.IsNull{Property: decide.Column})
	find.Where = orDecided(index.And{Terms: []index.Predicate{where, cleaner.Disputes(math.Inf(-1))}}, find.Where, decide.DisputedColumn, decide.DecidedByColumn)
	if find.Order == nil {
		find.Order = suspectOrder
	}
	return find, nil
}

// suspectOrder has the highest score first.
var suspectOrder = []index.Order{{Property: cleaner.ScoreColumn, Descending: true}}

// remarkStale says how many scores are older than changes around them, if the statement speaks of scores.
func (q *query) remarkStale(ctx context.Context) error {
	if !q.showsScores {
		return nil
	}
	run, err := q.newestRun()
	if errors.Is(err, ErrNotCleaned) { // a repair has removed the runs
		return nil
	}
	if err != nil {
		return err
	}
	notice, err := wording.StaleScores(ctx, q.tx, run)
	if notice != "" {
		q.notices = append(q.notices, notice)
	}
	return err
}

// orDecided joins what a condition finds among suspects with the decided nodes that it asks for, which are no suspects: of the
// alternatives that speak of one of some properties, it adds the nodes that have a value of this property. So disputed nodes, and
// those of one person, are found whatever their score and their label.
func orDecided(suspects, condition index.Predicate, properties ...string) index.Predicate {
	found := []index.Predicate{suspects}
	for _, property := range properties {
		if condition == nil {
			break
		}
		spoken, all := speaking(condition, property)
		if all {
			spoken = condition
		}
		if spoken != nil {
			found = append(found, index.And{Terms: []index.Predicate{spoken, hasValue(property)}})
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

// Suspects finds the nodes that the statement suspects finds with a condition, the highest score first. It returns up to limit nodes,
// and all if limit is 0. Notices are remarks on the condition for a reader.
func Suspects(ctx context.Context, tx *kv.Tx, where Condition, limit int) (nodes []kv.NodeID, notices []string, err error) {
	if err := tx.Err(); err != nil {
		return nil, nil, err
	}
	q := &query{resolver: newResolver(ctx, tx, Options{}, nil)}
	s := &suspectsStatement{clauses: clauses{where: where.of}}
	find, err := q.suspectQuery(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	if limit > 0 {
		find.Limit = limit
	}
	plan, err := index.NewPlan(tx, find)
	if err == nil {
		err = q.remarkStale(ctx)
	}
	if err != nil {
		return nil, nil, q.locate(err)
	}
	for v, err := range plan.Rows(ctx) {
		if err != nil {
			return nil, nil, err
		}
		nodes = append(nodes, v)
	}
	if len(nodes) == 0 {
		if notices, err = q.whyNone(ctx, s); err != nil {
			return nil, nil, err
		}
	}
	return nodes, append(q.remarks(), notices...), nil
}

// guaranteeTerms turns a bound on an error rate into the condition on scores that keeps it, and remarks on
// the threshold found.
func (q *query) guaranteeTerms(ctx context.Context, g *guarantee, run *cleaner.Run) ([]index.Predicate, error) {
	alpha, err := q.share(g.alpha, "an error rate")
	if err != nil {
		return nil, err
	}
	audit, err := LastAudit(ctx, q.tx)
	if err != nil {
		return nil, err
	}
	rate, from := run.MislabelRate, fmt.Sprintf("estimated by run %d", run.ID)
	if audit != nil && !math.IsNaN(audit.Rate) {
		rate, from = audit.Rate, fmt.Sprintf("told by an audit of %d", audit.Look)
	}
	if g.rate != nil {
		if rate, err = q.share(*g.rate, "a mislabel rate"); err != nil {
			return nil, err
		}
		from = "as given"
	}
	what, threshold := "false positive", cleaner.StoredFalsePositiveThreshold
	if g.kind == "fnr" {
		what, threshold = "false negative", cleaner.StoredFalseNegativeThreshold
	}
	t, err := threshold(ctx, q.tx, rate, alpha)
	if err != nil {
		return nil, err
	}
	lambda := t.Lambda
	if math.IsInf(lambda, 0) || math.IsNaN(lambda) {
		return nil, noThreshold(what, alpha, rate, t.MinAlpha)
	}
	// which finds the same nodes again, as a score that is printed
	lambdaText := Exact(kv.ValueOf(lambda), kv.KindSingle)
	summary := fmt.Sprintf("%s rate ≤ %g: N = %d scores, p = %.4g (%s), λ = %s", what, alpha, t.Scores, rate, from,
		lambdaText)
	if g.kind == "fpr" {
		q.notices = append(q.notices, summary+": score above λ")
		return []index.Predicate{index.Compare{Property: "score", Op: index.Gt, Value: kv.ValueOf(lambda)}}, nil
	}
	// λ bounds 1−score among scores above ½; see FalseNegativeThreshold.
	q.notices = append(q.notices, fmt.Sprintf("%s: score of 1−λ = %s or more; scores of 0.5 or less are not covered",
		summary, Exact(kv.ValueOf(1-lambda), kv.KindSingle)))
	return []index.Predicate{
		index.Compare{Property: "score", Op: index.Gt, Value: kv.ValueOf(0.5)},
		index.Compare{Property: "score", Op: index.Ge, Value: kv.ValueOf(1 - lambda)},
	}, nil
}

func noThreshold(what string, alpha, rate, least float64) error {
	// Rounded up, or asking for the number printed would fail again.
	digits := math.Pow(10, 3-math.Floor(math.Log10(least)))
	return fmt.Errorf("%s rate ≤ %g at p = %.4g: %w; the smallest rate that has one is %.4g",
		what, alpha, rate, ErrNoThreshold, math.Ceil(least*digits)/digits)
}
