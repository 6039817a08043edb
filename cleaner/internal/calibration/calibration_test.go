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

// TestFitIsTheMostLikely tries every slope, with a shift for each found by small steps.
func TestFitIsTheMostLikely(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 0))
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	slopes := map[float64]bool{}
	for range 40 {
		var logOdds, drawn []float64
		var wrong []bool
		steepness := math.Exp(r.NormFloat64())
		for range 60 {
			l := 3*r.NormFloat64() - 2
			if logOdds = append(logOdds, l); r.IntN(3) == 0 {
				drawn, wrong = append(drawn, l), append(wrong, r.Float64() < sigmoid(1+steepness*l))
			}
		}
		rate := []float64{0, 0.02, 0.2, 0.5, 1}[r.IntN(5)]
		draws := len(drawn) + r.IntN(20) // some of which are unsure
		own := 0.0
		for _, l := range logOdds {
			own += sigmoid(l) / 60
		}
		half := 0.5 / float64(draws)
		target := min(max(rate, min(half, own)), max(1-half, own))
		most, want := math.Inf(-1), 0.0
		for log := -1.5; log <= 1; log += 0.25 {
			a := -80.0
			for step := 16.0; step > 1e-9; step /= 2 {
				for mean := 0.0; mean < target; a += step {
					mean = 0
					for _, l := range logOdds {
						mean += sigmoid(a+step+math.Exp(log)*l) / 60
					}
					if mean >= target {
						break
					}
				}
			}
			fit := -log * log / 0.5
			for i, l := range drawn {
				if p := sigmoid(a + math.Exp(log)*l); wrong[i] {
					fit += math.Log(p)
				} else {
					fit += math.Log(1 - p)
				}
			}
			if fit > most {
				most, want = fit, log
			}
		}
		shift, slope := Fit(logOdds, drawn, wrong, rate, draws)
		if slope != want {
			t.Errorf("got a slope of e^%v, want e^%v", slope, want)
		}
		slopes[slope] = true
		mean := 0.0
		for _, l := range logOdds {
			mean += sigmoid(shift+math.Exp(slope)*l) / 60
		}
		if math.Abs(mean-target) > 1e-9 {
			t.Errorf("the mean is %v, want %v", mean, target)
		}
	}
	if len(slopes) < 4 {
		t.Errorf("got slopes %v alone", slopes)
	}
	few := []float64{-9, -8, -7, 1} // a draw that finds nothing tells no more than half a draw
	if shift, _ := Fit(few, few[:1], []bool{false}, 0, 1); shift > 1e-9 {
		t.Errorf("nothing wrong: got a shift of %v, want none upwards", shift)
	}
	if shift, slope := Fit(nil, nil, nil, 0.1, 25); shift != 0 || slope != 0 {
		t.Errorf("of nothing: got %v and %v, want 0", shift, slope)
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
