package calibration

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
)

func TestShiftGivesTheMean(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	logOdds := []float64{math.NaN(), math.Inf(-1), math.Inf(1)}
	for range 500 {
		logOdds = append(logOdds, 4*r.NormFloat64()-3)
	}
	for _, rate := range []float64{0.01, 0.1, 0.5, 0.9} {
		shift, sum := Shift(logOdds, rate), 0.0
		for _, l := range logOdds[1:] {
			sum += elementary.Sigmoid(l + shift)
		}
		if mean := sum / 502; math.Abs(mean-rate) > 1e-9 {
			t.Errorf("rate %v: the mean of the scores is %v", rate, mean)
		}
	}
	if got := Shift([]float64{math.NaN()}, 0.1); got != 0 {
		t.Errorf("of no scores: got shift %v, want 0", got)
	}
}

// TestThresholdHasTheGreatestF1 tries every cut.
func TestThresholdHasTheGreatestF1(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 0))
	for range 200 {
		scores := make([]float64, 1+r.IntN(40))
		for i := range scores {
			scores[i] = math.Round(20*math.Pow(r.Float64(), 3)) / 20
		}
		var whole, best float64
		for _, s := range scores {
			whole += s
		}
		f1 := func(threshold float64) float64 {
			var hits, flags float64
			for _, s := range scores {
				if s > threshold {
					hits, flags = hits+s, flags+1
				}
			}
			return 2 * hits / (flags + whole)
		}
		for _, s := range scores {
			best = max(best, f1(s-1e-9))
		}
		threshold := Threshold(append(scores, math.NaN()))
		switch {
		case whole < 1 && threshold != 0.5:
			t.Errorf("%v: got threshold %v, want .5", scores, threshold)
		case whole >= 1 && f1(threshold) < best-1e-9:
			t.Errorf("%v: got threshold %v of F1 %v, want F1 %v", scores, threshold, f1(threshold), best)
		}
	}
}
