package shell

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// suspectQuery says which nodes are suspects: scored, above a threshold unless the condition speaks of score itself, and
// not decided on unless it speaks of decision. Without an order the highest score comes first.
func (q *query) suspectQuery(ctx context.Context, s *suspectsStatement) (index.Query, error) {
	run, err := q.lastRun()
	if err != nil {
		return index.Query{}, err
	}
	find, err := q.query(s.clauses)
	if err != nil {
		return find, err
	}
	var terms []index.Predicate
	if find.Where != nil {
		terms = append(terms, find.Where)
	}
	switch {
	case s.guarantee != nil:
		above, err := q.guaranteed(ctx, s.guarantee, run)
		if err != nil {
			return find, err
		}
		terms = append(terms, above...)
	case slices.Contains(index.Properties(find.Where), "score"):
		terms = append(terms, hasValue("score"))
	default:
		terms = append(terms, aboveThreshold(run))
	}
	find.Where = index.And{Terms: append(terms, undecided(find.Where)...)}
	if find.Order == nil {
		find.Order = []index.Order{{Property: "score", Descending: true}}
	}
	return find, nil
}

// undecided are the terms that leave out nodes that somebody has decided on, none where a condition speaks of that.
func undecided(condition index.Predicate) []index.Predicate {
	if slices.Contains(index.Properties(condition), cleaner.DecisionColumn) {
		return nil
	}
	return []index.Predicate{index.IsNull{Property: cleaner.DecisionColumn}}
}

// hasValue is true of nodes for which a property is not null.
func hasValue(property string) index.Predicate {
	return index.Not{Term: index.IsNull{Property: property}}
}

// aboveThreshold is true of nodes that a run suspects.
func aboveThreshold(run *cleaner.Run) index.Predicate {
	return index.Compare{Property: "score", Op: index.Gt, Value: kv.FloatValue(run.Threshold)}
}

// lastRun is the run that the scores come from, or ErrNotCleaned.
func (q *query) lastRun() (*cleaner.Run, error) {
	run, err := cleaner.LastRun(q.tx)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, ErrNotCleaned
	}
	return run, err
}

// guaranteed turns a bound on an error rate into the condition on scores that keeps it, and remarks on
// the threshold found.
func (q *query) guaranteed(ctx context.Context, g *guarantee, run *cleaner.Run) ([]index.Predicate, error) {
	alpha, err := q.share(g.alpha, "an error rate")
	if err != nil {
		return nil, err
	}
	rate, from := run.MislabelRate, fmt.Sprintf("estimated by run %d", run.ID)
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
	found := fmt.Sprintf("%s rate ≤ %g: N = %d scores, p = %.4g (%s), λ = %.6g", what, alpha, t.Scored, rate, from, lambda)
	if g.kind == "fpr" {
		q.notices = append(q.notices, found+": score above λ")
		return []index.Predicate{index.Compare{Property: "score", Op: index.Gt, Value: kv.FloatValue(lambda)}}, nil
	}
	// λ bounds 1−score among scores above ½; see FalseNegativeThreshold.
	q.notices = append(q.notices, fmt.Sprintf("%s: score of 1−λ = %.6g or more; scores of 0.5 or less are not covered", found, 1-lambda))
	return []index.Predicate{
		index.Compare{Property: "score", Op: index.Gt, Value: kv.FloatValue(0.5)},
		index.Compare{Property: "score", Op: index.Ge, Value: kv.FloatValue(1 - lambda)},
	}, nil
}

func noThreshold(what string, alpha, rate, least float64) error {
	// Rounded up, or asking for the number printed would fail again.
	digits := math.Pow(10, 3-math.Floor(math.Log10(least)))
	return fmt.Errorf("%s rate ≤ %g at p = %.4g: %w; the smallest rate that has one is %.4g",
		what, alpha, rate, ErrNoThreshold, math.Ceil(least*digits)/digits)
}
