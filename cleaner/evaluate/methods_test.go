package evaluate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// trialOf is a trial of given labels and predictions, all of the test split.
func trialOf(t *testing.T, labels []kv.Class, predictions []float32) *trial {
	t.Helper()
	n := len(labels)
	store := must.Get(rowstore.New(nil, n, len(predictions)/n))(t)
	must.Do(t, store.Write(kv.Range{End: kv.NodeID(n)}, 0, store.Width(), predictions))
	return &trial{Trial: cleaner.Trial{Labels: labels, Splits: dealt(n, cleaner.SplitTest), Predictions: store}}
}

// randomTrial has predictions that tie, classes that no node is given, and nodes without a label or of another split.
func randomTrial(t *testing.T, seed uint64) (p *trial, predictions []float32) {
	r := rand.New(rand.NewPCG(seed, 0))
	n, c := 1+r.IntN(60), 1+r.IntN(6)
	predictions = make([]float32, n*c)
	for i := range predictions {
		predictions[i] = float32(r.IntN(5)) / 4
	}
	p = trialOf(t, kvtest.AwkwardLabels(r, n, c), predictions)
	for v := range p.Splits {
		if r.IntN(4) == 0 {
			p.Splits[v] = cleaner.SplitValidation
		}
	}
	return p, predictions
}

// judge returns the measurement of a method on a trial.
func judge(t *testing.T, p *trial, name string) *Measurement {
	t.Helper()
	m := &Measurement{Scores: make([]float64, len(p.Labels)), Flagged: make([]bool, len(p.Labels)),
		MislabelRate: math.NaN()}
	must.Do(t, methods[slices.Index(MethodNames(), name)].run(t.Context(), p, m))
	for v, y := range p.Labels {
		if y == kv.NoClass && m.Flagged[v] {
			t.Errorf("%s: node %d has no label and is flagged", name, v)
		}
	}
	return m
}

func TestArgmaxAndArgmin(t *testing.T) {
	for seed := range uint64(50) {
		p, predictions := randomTrial(t, seed)
		most, least := judge(t, p, "argmax"), judge(t, p, "argmin")
		for v, y := range p.Labels {
			if y == kv.NoClass {
				continue
			}
			row := predictions[v*p.Predictions.Width():][:p.Predictions.Width()]
			more := slices.ContainsFunc(row, func(x float32) bool { return x > row[y] })
			fewer := slices.ContainsFunc(row, func(x float32) bool { return x < row[y] })
			if most.Flagged[v] != more || least.Flagged[v] == fewer || most.Scores[v] != 1-float64(row[y]) ||
				least.Scores[v] != most.Scores[v] {
				t.Errorf("seed %d, node %d given %d, predictions %v: got flags %v and %v, scores %v and %v", seed, v, y, row,
					most.Flagged[v], least.Flagged[v], most.Scores[v], least.Scores[v])
			}
		}
	}
}

// TestSplitApart wants of the nodes of each split what the method says of a graph where no others are labelled.
func TestSplitApart(t *testing.T) {
	for seed := range uint64(30) {
		p, predictions := randomTrial(t, seed)
		for _, name := range []string{"confident-learning", "dyb"} {
			whole := judge(t, p, name)
			for _, split := range []cleaner.Split{cleaner.SplitValidation, cleaner.SplitTest} {
				labels := slices.Clone(p.Labels)
				for v := range labels {
					if p.Splits[v] != split {
						labels[v] = kv.NoClass
					}
				}
				want := judge(t, trialOf(t, labels, predictions), name)
				for v, y := range labels {
					if y != kv.NoClass && (whole.Scores[v] != want.Scores[v] || whole.Flagged[v] != want.Flagged[v]) {
						t.Fatalf("%s, seed %d, node %d of split %s: got %v, %v, want %v, %v", name, seed, v, split,
							whole.Scores[v], whole.Flagged[v], want.Scores[v], want.Flagged[v])
					}
				}
			}
		}
	}
}
