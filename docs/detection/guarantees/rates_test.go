package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/evaluate"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestRatesKeepTheirBounds draws scores of which mislabelled nodes have the higher ones.
func TestRatesKeepTheirBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const draws, nodes = 60, 1000
	var at [3]rates
	bounds := []float64{0.05, 0.1, 0.3}
	for draw := range draws {
		m := evaluate.Measurement{Truth: make([]kv.Class, nodes), Labels: make([]kv.Class, nodes),
			Scores: make([]float64, nodes)}
		for v := range nodes {
			m.Nodes = append(m.Nodes, kv.NodeID(v))
			m.Scores[v] = math.Pow(random.Float64(), 3)
			if random.Float64() < 0.1 {
				m.Labels[v], m.Scores[v] = 1, math.Cbrt(random.Float64())
			}
		}
		calibration, unseen := halves(m, uint64(draw))
		if len(calibration.scores)+len(unseen.scores) != nodes || len(calibration.scores) != nodes/2 {
			t.Fatalf("halves of %d nodes: %d and %d", nodes, len(calibration.scores), len(unseen.scores))
		}
		for i, alpha := range bounds {
			at[i].add(calibration.scores, calibration.mislabelRate(), alpha, unseen)
		}
	}
	for i, alpha := range bounds {
		for name, m := range map[string]mean{"positive": at[i].falsePositives, "negative": at[i].falseNegatives} {
			if m.count != draws || m.value()-2*m.standardError() > alpha {
				t.Errorf("false %s rate at %g: got %.3f ± %.3f of %d draws", name, alpha, m.value(), m.standardError(), m.count)
			}
		}
		if at[i].missed.value() < at[i].falseNegatives.value() {
			t.Errorf("missed at %g: got %.3f, less than the %.3f that the bound counts", alpha, at[i].missed.value(),
				at[i].falseNegatives.value())
		}
	}
}

func TestRatesWithoutThreshold(t *testing.T) {
	var r rates
	r.add([]float64{0.1, 0.9}, 0.5, 0.01, half{scores: []float64{0.2}, wrong: []bool{false}})
	if r.falsePositives.count != 0 || r.falseNegatives.count != 0 || !math.IsNaN(r.falsePositives.value()) {
		t.Errorf("no finite threshold: got %+v, want nothing", r)
	}
}

func TestBounded(t *testing.T) {
	for _, test := range []struct {
		shares []float64
		draws  int
		want   string // at 0.1
	}{
		{nil, 3, "–"},
		{[]float64{0.2}, 1, "**0.200**"},
		{[]float64{0.1}, 1, "0.100"},
		{[]float64{0.2}, 3, "**0.200 (1)**"},
		{[]float64{0.05}, 3, "0.050 (1)"},
		{[]float64{0.2, 0.2}, 2, "**0.200**"},
		{[]float64{0, 0.3}, 2, "0.150"},
		{[]float64{0, 0.3}, 3, "0.150 (2)"},
	} {
		var m mean
		for _, share := range test.shares {
			m.add(share, 1)
		}
		if got := bounded(m, test.draws, 0.1); got != test.want {
			t.Errorf("%v of %d draws: got %s, want %s", test.shares, test.draws, got, test.want)
		}
	}
}
