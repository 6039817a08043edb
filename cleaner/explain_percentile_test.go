package cleaner

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/golden"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// The ranks of features, against all fitting nodes counted one by one.
func TestExplainRanksFeatures(t *testing.T) {
	for _, preset := range []Preset{PresetPaper, PresetDefault} {
		s := newPlanted(21, 400).load(t, false)
		mustClean(t, s, Options{Preset: preset, Seed: 3, Imported: AsGiven})
		view(t, s, func(tx *kv.Tx) error {
			run := must.Get(LastRun(tx))(t)
			matrix := must.Get(tx.Matrix(AgreementMatrix))(t)
			width := matrix.Width()
			z := make([]float32, tx.NumNodes()*width)
			must.Do(t, matrix.Read(kv.Range{End: kv.NodeID(tx.NumNodes())}, 0, width, z))
			// rank is the weight of the fitting nodes below x, equals half.
			rank := func(f int, x float64, weight func(score float64) float64) (float64, float64) {
				var below, all float64
				for v := range kv.NodeID(tx.NumNodes()) {
					e := mustReadNode(t, tx, v)
					if e.Split != "val" || e.Label == "" {
						continue
					}
					w, value := weight(e.Score), float64(z[int(v)*width+f])
					all += w
					if value < x {
						below += w
					} else if value == x {
						below += w / 2
					}
				}
				return below / all, all
			}
			for v := kv.NodeID(0); v < 60; v += 7 {
				e := mustExplain(t, tx, v, ops.Options{})
				for f, feature := range e.Features {
					x := float64(z[int(v)*width+f])
					right, nodes := rank(f, x, func(s float64) float64 { return 1 - s })
					wrong, bad := rank(f, x, func(s float64) float64 { return s })
					if !golden.Near(feature.RankRight, right, 0.02) || !golden.Near(e.FittingRight, nodes, 1e-6*nodes) {
						t.Errorf("%s, node %s, feature %s = %v: got rank %v of %v right, want %v of %v",
							preset, e.ID, feature.Name, x, feature.RankRight, e.FittingRight, right, nodes)
					}
					// Of few nodes the steps between the quantiles are large.
					if bad >= 1 && !golden.Near(feature.RankWrong, wrong, 0.02+1/bad) || !golden.Near(e.FittingWrong, bad, 1e-6*nodes) {
						t.Errorf("%s, node %s, feature %s = %v: got rank %v of %v wrong, want %v of %v",
							preset, e.ID, feature.Name, x, feature.RankWrong, e.FittingWrong, wrong, bad)
					}
				}
			}
			if rates := run.ClassMislabelRates(); len(rates) != 4 {
				t.Errorf("%s: got mislabel rates %v, want one a class", preset, rates)
			}
			return nil
		})
	}
}

func TestSpreadRanks(t *testing.T) {
	for _, test := range []struct {
		values  []float32
		weights []float64
		x       float64
		want    float64
	}{
		{[]float32{1, 2, 3, 4}, []float64{1, 1, 1, 1}, 0, 0},
		{[]float32{1, 2, 3, 4}, []float64{1, 1, 1, 1}, 5, 1},
		{[]float32{1, 1, 1, 1}, []float64{1, 1, 1, 1}, 1, 0.5},
		{[]float32{4, 1, 3, 2}, []float64{1, 1, 1, 1}, 2.5, 0.505},
		{[]float32{1, 2}, []float64{3, 1}, 1.5, 0.755},
		{[]float32{1, 2}, []float64{0, 1}, 1.5, 0},
		{[]float32{1, 2}, []float64{0.2, 0.2}, 1.5, math.NaN()}, // less than a node
		{nil, nil, 1, math.NaN()},
	} {
		got := newSpread(test.values, 1, test.weights).rank(0, test.x)
		if math.Abs(got-test.want) > 0.01 || math.IsNaN(got) != math.IsNaN(test.want) {
			t.Errorf("%v among %v, weights %v: got %v, want %v", test.x, test.values, test.weights, got, test.want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	values, weights := make([]float32, 5000), make([]float64, 5000)
	for i := range values {
		values[i], weights[i] = float32(r.NormFloat64()), r.Float64()
	}
	s := newSpread(values, 1, weights)
	for x := -2.5; x <= 2.5; x += 0.25 {
		if got, want := s.rank(0, x), 0.5*math.Erfc(-x/math.Sqrt2); !golden.Near(got, want, 0.03) {
			t.Errorf("%v among normal numbers: got %v, want %v", x, got, want)
		}
	}
}

// A class that was first given after the run is no reason to fail.
func TestExplainClassOfAfterTheRun(t *testing.T) {
	for _, preset := range []Preset{PresetPaper, PresetDefault} {
		s := newPlanted(22, 200).load(t, false)
		mustClean(t, s, Options{Preset: preset, Imported: AsGiven})
		v := labelledNode(t, s, 0)
		must.Do(t, s.Update(func(tx *kv.Tx) error { return tx.SetLabel(v, "epsilon") }))
		view(t, s, func(tx *kv.Tx) error {
			for u := range kv.NodeID(50) {
				e := must.Get(Explain(context.Background(), tx, u, ops.Options{}))(t)
				want := 3
				if u == v || e.Label == "" {
					want = 4
				}
				if len(e.Counterfactual) != want {
					t.Errorf("%s, node %s, given %q: got %d counterfactual scores, want %d", preset, e.ID, e.Label, len(e.Counterfactual), want)
				}
			}
			return nil
		})
	}
}
