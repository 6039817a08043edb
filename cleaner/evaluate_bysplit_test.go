package cleaner

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestEvaluateBySplit measures the nodes of each split anew from what every node is said to be, also where a split has
// none.
func TestEvaluateBySplit(t *testing.T) {
	s, p := evaluated(t, 31, 160)
	for _, deal := range [][]Split{
		{SplitTrain, SplitTrain, SplitNone, SplitValidation, SplitTest}, {SplitNone, SplitValidation, SplitTest},
	} {
		splits := make([]Split, len(p.nodes))
		for v := range splits {
			splits[v] = deal[v%len(deal)]
		}
		seen := make(map[string]MethodMetrics)
		opt := EvalOptions{Noise: "sym:0.3", Splits: splits, Methods: []string{"default", "confident-learning", "dyb", "argmax"}}
		opt.OnMeasurement = func(m Measurement) error {
			over := func(within func(Split) bool) Metrics {
				var scores []float64
				var flagged, wrong []bool
				for v := range splits { // by NodeID and not in file order: no two scores are the same
					if m.Truth[v] != kv.NoClass && within(splits[v]) {
						scores, flagged = append(scores, m.Scores[v]), append(flagged, m.Flagged[v])
						wrong = append(wrong, m.Truth[v] != m.Labels[v])
					}
				}
				return measureScores(scores, flagged, wrong)
			}
			of := func(split Split) Metrics { return over(func(s Split) bool { return s == split }) }
			seen[m.Method] = MethodMetrics{Metrics: of(SplitTest), BySplit: MetricsBySplit{
				Train: of(SplitTrain), Validation: of(SplitValidation), Test: of(SplitTest), All: over(func(Split) bool { return true }),
			}}
			return nil
		}
		for _, m := range evaluate(t, s, opt).Methods {
			want := seen[m.Name]
			for part, got := range m.Repeats[0].parts() {
				got, wanted := *got, *want.parts()[part]
				got.EstimatedRate, got.TrueRate = 0, 0 // of the run, not of the nodes
				sameMetrics(t, m.Name, got, wanted)
			}
			if m.Mean.Metrics != m.Mean.BySplit.Test {
				t.Errorf("%s: the metrics are not those of the test nodes", m.Name)
			}
			if m.Mean.BySplit.All.F1 == 0 || m.Mean.BySplit.All.TrueRate != m.Mean.TrueRate {
				t.Errorf("%s: of all nodes got %+v", m.Name, m.Mean.BySplit.All)
			}
		}
	}
}

// TestSplitApart wants of the nodes of each split what the method says of a graph where no others are labelled.
func TestSplitApart(t *testing.T) {
	for seed := range uint64(100) {
		p, _ := randomTrial(rand.New(rand.NewPCG(seed, 0)))
		p.split, p.testNodes = nil, countLabelled(p.labels)
		for _, run := range []func(context.Context, trial, Options) (*judgement, error){confidentLearning, dynamicBootstrap} {
			whole := must.Get(splitApart(run)(t.Context(), p, Options{}))(t)
			for _, split := range []Split{SplitValidation, SplitTest} {
				alone := p
				alone.labels = slices.Clone(p.labels)
				for v := range alone.labels {
					if p.splits[v] != split {
						alone.labels[v] = kv.NoClass
					}
				}
				alone.testNodes = countLabelled(alone.labels)
				want := must.Get(run(t.Context(), alone, Options{}))(t)
				for v, y := range alone.labels {
					if y != kv.NoClass && (whole.scores[v] != want.scores[v] || whole.flagged[v] != want.flagged[v]) {
						t.Fatalf("seed %d, node %d of split %s: got %v, %v, want %v, %v", seed, v, split,
							whole.scores[v], whole.flagged[v], want.scores[v], want.flagged[v])
					}
				}
			}
			for v, y := range p.labels {
				if y == kv.NoClass && whole.flagged[v] {
					t.Errorf("seed %d: node %d has no label and is flagged", seed, v)
				}
			}
		}
	}
}
