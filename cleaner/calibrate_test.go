package cleaner

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/graphcleaner/graphcleaner/kv"
)

// givenScores are the scores of all nodes in file order, NaN without a label.
func givenScores(t *testing.T, s *kv.Store) (scores []float64) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		for v, err := range tx.InFileOrder() {
			if err != nil {
				return err
			}
			score, err := tx.Value(v, ScoreColumn)
			if err != nil {
				return err
			}
			if scores = append(scores, score.Float()); score.IsNull() {
				scores[len(scores)-1] = math.NaN()
			}
		}
		return nil
	})
	return scores
}

// TestExpect wants scores whose mean is what was expected, in the order that they have without.
func TestExpect(t *testing.T) {
	p := newPlanted(41, 400)
	s := p.load(t, true)
	mustClean(t, s, Options{Seed: 2})
	plain := givenScores(t, s)
	for _, share := range []float64{0.01, 0.1, 0.3, 0.6} {
		run := mustClean(t, s, Options{Seed: 2, Expect: share})
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
	for _, wrong := range []Options{{Expect: -0.1}, {Expect: 1}, {Expect: math.NaN()}, {Expect: 0.1, Preset: PresetPaper}} {
		if _, err := Clean(t.Context(), s, wrong); !errors.Is(err, ErrOptions) {
			t.Errorf("%v with preset %q: got %v, want ErrOptions", wrong.Expect, wrong.Preset, err)
		}
	}
}

// drawnCalibration is one of random log-odds that the bins can tell apart, at random likelihoods.
func drawnCalibration(t *rapid.T, expect float64) (*Calibration, []float64) {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	logOdds := make([]float64, rapid.IntRange(1, 200).Draw(t, "nodes"))
	for i := range logOdds {
		logOdds[i] = min(max(6*r.NormFloat64()-3, -mostLogOdds), mostLogOdds)
	}
	rates := ratesFor(rapid.IntRange(2, 9).Draw(t, "classes"))
	profile := make([]float64, len(rates))
	for i := range profile {
		profile[i] = 3 * r.NormFloat64()
	}
	joint := rapid.Float64Range(0, 0.7).Draw(t, "joint")
	return newCalibration(rates, profile, joint, expect, append(logOdds, math.NaN()), 1), logOdds
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
				e := rateEstimate{shift: shift, lapse: lapse}
				var sum float64
				for _, l := range logOdds {
					sum += e.score(l)
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
			c.observe(l, l, rapid.Bool().Draw(t, "wrong"))
		}
		e := c.estimate()
		if !(0 <= e.low && e.low <= e.rate && e.rate <= e.high && e.high <= 1) {
			t.Fatalf("got rates %v ≤ %v ≤ %v", e.low, e.rate, e.high)
		}
		if !(0 < e.greyFrom && e.greyFrom <= e.threshold && e.threshold < 1) {
			t.Fatalf("got a grey zone from %v to %v", e.greyFrom, e.threshold)
		}
		for _, l := range logOdds {
			if back := e.logOdds(e.score(l)); math.Abs(l+e.shift) < 15 && math.Abs(back-l) > 1e-3 {
				t.Fatalf("log-odds %v: got %v back", l, back)
			}
		}
		if c.Right+c.Wrong > 0 || c.expected(e.shift, e.lapse) < 1 {
			return
		}
		f1 := func(threshold float64) float64 {
			var found, flagged, whole float64
			for _, l := range logOdds {
				s := e.score(logOddsOf(binOf(l)))
				if whole += s; s > threshold {
					found += s
					flagged++
				}
			}
			return 2 * found / (flagged + whole)
		}
		for _, l := range logOdds {
			if other := e.score(logOddsOf(binOf(l))) - 1e-9; f1(other) > f1(e.threshold)+1e-9 {
				t.Fatalf("threshold %v has an expected F1 of %v, %v of %v", e.threshold, f1(e.threshold), other, f1(other))
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
	profile := make([]float64, len(ratesFor(5)))
	profile[6] = 3 // for 3 %
	fresh := func() *Calibration { return newCalibration(ratesFor(5), profile, 0.05, 0, logOdds, 1) }
	before := fresh().estimate()
	if before.lapse != 0 {
		t.Errorf("a lapse of %v without a verdict", before.lapse)
	}
	wrong, right := fresh(), fresh()
	for i := range 40 {
		wrong.observe(logOdds[700+i], logOdds[700+i], true)
		right.observe(logOdds[999-i], logOdds[999-i], false)
	}
	if e := wrong.estimate(); e.rate < 1.5*before.rate || e.low <= before.low {
		t.Errorf("40 doubtful labels that are wrong: got %v to %v, %v to %v before", e.rate, e.low, before.rate, before.low)
	}
	for k := range 40 {
		some := fresh()
		for i := range k + 1 {
			some.observe(logOdds[999-i], logOdds[999-i], false)
		}
		if e := some.estimate(); e.rate > before.rate {
			t.Errorf("%d first suspects that are right: got a rate of %v with a lapse of %v, %v before", k+1, e.rate, e.lapse, before.rate)
		}
	}
	if e := right.estimate(); e.rate > before.rate/1.5 && e.lapse == 0 {
		t.Errorf("40 first suspects that are right: got a rate of %v with a lapse of %v, %v before", e.rate, e.lapse, before.rate)
	}
	if right.Right != 40 || wrong.Wrong != 40 {
		t.Errorf("counted %d right and %d wrong, want 40 each", right.Right, wrong.Wrong)
	}
}
