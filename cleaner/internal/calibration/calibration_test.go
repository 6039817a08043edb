package calibration

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
)

var grid = []float64{.001, .002, .005, .01, .015, .02, .03, .04, .055, .075, .1, .13, .17, .22, .3, .4, .5, .6}

// drawnCalibration is one of random log-odds that the bins can tell apart, at random likelihoods.
func drawnCalibration(t *rapid.T, expect float64) (*Calibration, []float64) {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	logOdds := make([]float64, rapid.IntRange(1, 200).Draw(t, "nodes"))
	for i := range logOdds {
		logOdds[i] = min(max(6*r.NormFloat64()-3, -mostLogOdds), mostLogOdds)
	}
	rates := grid[:rapid.IntRange(13, len(grid)).Draw(t, "rates")]
	profile := make([]float64, len(rates))
	for i := range profile {
		profile[i] = 3 * r.NormFloat64()
	}
	joint := rapid.Float64Range(0, 0.7).Draw(t, "joint")
	return New(rates, profile, joint, expect, append(logOdds, math.NaN()), 1), logOdds
}

func TestShiftGivesTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, logOdds := drawnCalibration(t, 0)
		for j, lapse := range lapses {
			for i, rate := range c.Rates {
				shift := c.Shifts[j*len(c.Rates)+i]
				if math.IsInf(shift, 1) {
					if rate < 0.9*(1-lapse) {
						t.Fatalf("rate %v, lapse %v: no shift", rate, lapse)
					}
					continue
				}
				e := Estimate{Shift: shift, Lapse: lapse}
				var sum float64
				for _, l := range logOdds {
					sum += e.Score(l)
				}
				if mean := sum / float64(len(logOdds)); math.Abs(mean-rate) > 0.01*rate+1e-6 {
					t.Fatalf("rate %v, lapse %v: got a mean of %v", rate, lapse, mean)
				}
			}
		}
	})
}

// TestEstimateOfCalibration wants what any estimate has: an order among its rates, scores that can be turned back, and a
// threshold whose expected F1 no other has.
func TestEstimateOfCalibration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, logOdds := drawnCalibration(t, 0)
		for range rapid.IntRange(0, 20).Draw(t, "verdicts") {
			l := rapid.SampledFrom(logOdds).Draw(t, "of")
			c.Observe(l, l, rapid.Bool().Draw(t, "wrong"))
		}
		e := c.Estimate()
		if !(0 <= e.Low && e.Low <= e.Rate && e.Rate <= e.High && e.High <= 1) {
			t.Fatalf("got rates %v ≤ %v ≤ %v", e.Low, e.Rate, e.High)
		}
		if !(0 < e.GreyFrom && e.GreyFrom <= e.Threshold && e.Threshold < 1) {
			t.Fatalf("got a grey zone from %v to %v", e.GreyFrom, e.Threshold)
		}
		for _, l := range logOdds {
			if back := e.LogOdds(e.Score(l)); math.Abs(l+e.Shift) < 15 && math.Abs(back-l) > 1e-3 {
				t.Fatalf("log-odds %v: got %v back", l, back)
			}
		}
		if c.Right+c.Wrong > 0 || c.Mislabels(e) < 1 {
			return
		}
		f1 := func(threshold float64) float64 {
			var found, flagged, whole float64
			for _, l := range logOdds {
				s := e.Score(logOddsOf(binOf(l)))
				if whole += s; s > threshold {
					found += s
					flagged++
				}
			}
			return 2 * found / (flagged + whole)
		}
		for _, l := range logOdds {
			if other := e.Score(logOddsOf(binOf(l))) - 1e-9; f1(other) > f1(e.Threshold)+1e-9 {
				t.Fatalf("threshold %v has an expected F1 of %v, %v of %v", e.Threshold, f1(e.Threshold), other, f1(other))
			}
		}
	})
}

// TestRightLabelsRaiseNothing wants verdicts that labels are right to raise neither the rate nor the count of suspects.
func TestRightLabelsRaiseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, logOdds := drawnCalibration(t, 0)
		slices.Sort(logOdds)
		suspects := func(e Estimate) (count int) {
			for _, l := range logOdds {
				if e.Score(l) > e.Threshold {
					count++
				}
			}
			return count
		}
		before := c.Estimate()
		for i := range min(len(logOdds), rapid.IntRange(1, 30).Draw(t, "verdicts")) {
			l := logOdds[len(logOdds)-1-i]
			c.Observe(l, l, false)
			e := c.Estimate()
			if e.Rate > before.Rate+0.01*before.Rate {
				t.Fatalf("%d labels are right: got a rate of %v, %v before", i+1, e.Rate, before.Rate)
			}
			if got, was := suspects(e), suspects(before); got > was+i+1 && c.mislabels(e.Shift, e.Lapse) >= 1 {
				t.Fatalf("%d labels are right: got %d suspects, %d before", i+1, got, was)
			}
		}
	})
}

// TestVerdictsMoveTheRate wants a rate that rises when people find labels wrong that were thought right, and falls when
// they find labels right that were thought wrong; and that a lapse comes from labels that are right at any score.
func TestVerdictsMoveTheRate(t *testing.T) {
	logOdds := make([]float64, 1000)
	for i := range logOdds {
		logOdds[i] = -8 + 10*float64(i)/1000
	}
	profile := make([]float64, len(grid))
	profile[6] = 3 // for 3 %
	fresh := func() *Calibration { return New(grid, profile, 0.05, 0, logOdds, 1) }
	before := fresh().Estimate()
	if before.Lapse != 0 {
		t.Errorf("a lapse of %v without a verdict", before.Lapse)
	}
	wrong, right := fresh(), fresh()
	for i := range 40 {
		wrong.Observe(logOdds[700+i], logOdds[700+i], true)
		right.Observe(logOdds[999-i], logOdds[999-i], false)
	}
	if e := wrong.Estimate(); e.Rate < 1.5*before.Rate || e.Low <= before.Low {
		t.Errorf("40 doubtful labels that are wrong: got %v to %v, %v to %v before", e.Rate, e.Low, before.Rate, before.Low)
	}
	for k := 0; k < 40; k += longtest.Of(6, 1) {
		some := fresh()
		for i := range k + 1 {
			some.Observe(logOdds[999-i], logOdds[999-i], false)
		}
		if e := some.Estimate(); e.Rate > before.Rate {
			t.Errorf("%d first suspects that are right: got a rate of %v with a lapse of %v, %v before", k+1, e.Rate, e.Lapse, before.Rate)
		}
	}
	if e := right.Estimate(); e.Rate > before.Rate/1.5 && e.Lapse == 0 {
		t.Errorf("40 first suspects that are right: got a rate of %v with a lapse of %v, %v before", e.Rate, e.Lapse, before.Rate)
	}
	if right.Right != 40 || wrong.Wrong != 40 {
		t.Errorf("counted %d right and %d wrong, want 40 each", right.Right, wrong.Wrong)
	}
}
