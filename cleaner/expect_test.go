package cleaner

import (
	"errors"
	"math"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// givenScores are the scores of all nodes in file order, NaN without a label.
func givenScores(t *testing.T, s *kv.Store) (scores []float64) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		for v, err := range tx.InFileOrder() {
			must.Do(t, err)
			score := must.Get(tx.Value(v, ScoreColumn))(t)
			if scores = append(scores, score.Float()); score.IsNull() {
				scores[len(scores)-1] = math.NaN()
			}
		}
		return nil
	})
	return scores
}

// TestExpect wants scores with the expected mean, in the order that they have without.
func TestExpect(t *testing.T) {
	p := newPlanted(41, 400)
	s := p.load(t, true)
	mustClean(t, s, Options{Seed: 2, Imported: AsGiven})
	plain := givenScores(t, s)
	for _, share := range []float64{0.01, 0.1, 0.3, 0.6} {
		run := mustClean(t, s, Options{Seed: 2, Expect: share, Imported: AsGiven})
		if run.MislabelRate != share || run.Model.Shift == 0 {
			t.Errorf("%v: got a rate of %v and a shift of %v", share, run.MislabelRate, run.Model.Shift)
		}
		scores := givenScores(t, s)
		var sum, count float64
		for i, score := range scores {
			if math.IsNaN(score) {
				continue
			}
			sum += score
			count++
			for j := range i {
				if plain[i] < plain[j] && score > scores[j] {
					t.Fatalf("%v: scores %v and %v are %v and %v without", share, score, scores[j], plain[i], plain[j])
				}
			}
		}
		if mean := sum / count; math.Abs(mean-share) > 0.02*share+1e-3 {
			t.Errorf("%v: got a mean score of %v", share, mean)
		}
	}
	for _, wrong := range []Options{{Expect: -0.1}, {Expect: 1}, {Expect: math.NaN()},
		{Expect: 0.1, Method: paper.Published}} {
		if _, err := Clean(t.Context(), s, wrong); !errors.Is(err, ErrOptions) {
			t.Errorf("%v by %T: got %v, want ErrOptions", wrong.Expect, wrong.Method, err)
		}
	}
}
