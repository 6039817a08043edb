package shell

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// suspectQuery says which nodes are suspects: scored, not decided on, and above a threshold unless the
// condition speaks of score itself. Without an order the highest score comes first.
func (q *query) suspectQuery(s *suspectsStatement) (index.Query, error) {
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
		above, err := q.guaranteed(s.guarantee, run)
		if err != nil {
			return find, err
		}
		terms = append(terms, above...)
	case slices.Contains(index.Properties(find.Where), "score"):
		terms = append(terms, index.Not{Term: index.IsNull{Property: "score"}})
	default:
		terms = append(terms, aboveThreshold(run))
	}
	find.Where = index.And{Terms: append(terms, undecided)}
	if find.Order == nil {
		find.Order = []index.Order{{Property: "score", Descending: true}}
	}
	return find, nil
}

// undecided is true of nodes that nobody has accepted, rejected or relabelled.
var undecided = index.IsNull{Property: "decision"}

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
func (q *query) guaranteed(g *guarantee, run *cleaner.Run) ([]index.Predicate, error) {
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
	scores := make([]float64, q.tx.NumNodes())
	if err := q.tx.ReadFloats("score", scores); err != nil {
		return nil, err
	}
	if g.kind == "fpr" {
		lambda, least := cleaner.FalsePositiveThreshold(scores, rate, alpha)
		if math.IsInf(lambda, 0) || math.IsNaN(lambda) {
			return nil, noThreshold("false positive", alpha, rate, least)
		}
		q.notices = append(q.notices, fmt.Sprintf("false positive rate ≤ %g: λ = %.6g, p = %.4g (%s): score above λ", alpha, lambda, rate, from))
		return []index.Predicate{index.Compare{Property: "score", Op: index.Gt, Value: kv.FloatValue(lambda)}}, nil
	}
	lambda, least := cleaner.FalseNegativeThreshold(scores, rate, alpha)
	if math.IsInf(lambda, 0) || math.IsNaN(lambda) {
		return nil, noThreshold("false negative", alpha, rate, least)
	}
	// λ bounds 1−score among scores above ½; see FalseNegativeThreshold.
	q.notices = append(q.notices, fmt.Sprintf("false negative rate ≤ %g: λ = %.6g, p = %.4g (%s): score of 1−λ = %.6g or more; scores of 0.5 or less are not covered", alpha, lambda, rate, from, 1-lambda))
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
