package main

import (
	"math"
	"math/rand/v2"

	"github.com/graphcleaner/graphcleaner/cleaner/conformal"
	"github.com/graphcleaner/graphcleaner/cleaner/evaluate"
)

// A half is some of the nodes under test.
type half struct {
	scores []float64
	wrong  []bool
}

func (h *half) mislabelRate() float64 {
	count := 0
	for _, wrong := range h.wrong {
		if wrong {
			count++
		}
	}
	return float64(count) / float64(len(h.wrong))
}

// halves puts the nodes under test into two halves at random.
func halves(m evaluate.Measurement, seed uint64) (first, second half) {
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(m.Nodes))
	for i, at := range order {
		h := &first
		if i >= len(order)/2 {
			h = &second
		}
		v := m.Nodes[at]
		h.scores, h.wrong = append(h.scores, m.Scores[v]), append(h.wrong, m.Truth[v] != m.Labels[v])
	}
	return first, second
}

// rates are error rates at the thresholds of a bound, over draws.
type rates struct {
	falsePositives mean // share of correctly labelled nodes above the threshold
	falseNegatives mean // share of mislabelled nodes with a score above 0.5 and below the threshold
	missed         mean // share of mislabelled nodes below the threshold or with 0.5 at most
}

// lambdaOf is the threshold of scores in memory; NaN if there is none.
func lambdaOf(
	threshold func(conformal.Scores, float64, float64) (conformal.Threshold, error), scores []float64, p, alpha float64,
) float64 {
	of, err := threshold(func(yield func(float64, error) bool) {
		for _, s := range scores {
			if !yield(s, nil) {
				return
			}
		}
	}, p, alpha)
	if err != nil {
		return math.NaN()
	}
	return of.Lambda
}

// add finds the thresholds of a bound on scores, and measures them on unseen nodes. Where no finite threshold exists
// nothing is measured.
func (r *rates) add(scores []float64, mislabelRate, alpha float64, unseen half) {
	if lambda := lambdaOf(conformal.FalsePositives, scores, mislabelRate, alpha); !math.IsInf(lambda, 0) &&
		!math.IsNaN(lambda) {
		var above, right float64
		for i, score := range unseen.scores {
			if unseen.wrong[i] {
				continue
			}
			right++
			if score > lambda {
				above++
			}
		}
		r.falsePositives.add(above, right)
	}
	if lambda := lambdaOf(conformal.FalseNegatives, scores, mislabelRate, alpha); !math.IsInf(lambda, 0) &&
		!math.IsNaN(lambda) {
		var counted, below, wrong float64
		for i, score := range unseen.scores {
			switch {
			case !unseen.wrong[i]:
				continue
			case score <= 0.5:
				below++
			case 1-score > lambda:
				counted++
			}
			wrong++
		}
		r.falseNegatives.add(counted, wrong)
		r.missed.add(counted+below, wrong)
	}
}

// A mean is that of shares.
type mean struct {
	sum, squares float64
	count        int
}

// add adds part/whole; of nothing it adds nothing.
func (m *mean) add(part, whole float64) {
	if whole == 0 {
		return
	}
	share := part / whole
	m.sum, m.squares = m.sum+share, m.squares+share*share
	m.count++
}

// value is NaN where there is none.
func (m *mean) value() float64 { return m.sum / float64(m.count) }

// standardError is that of the mean, NaN below two values.
func (m *mean) standardError() float64 {
	if m.count < 2 {
		return math.NaN()
	}
	n := float64(m.count)
	variance := max(m.squares-m.sum*m.sum/n, 0) / (n - 1)
	return math.Sqrt(variance / n)
}
