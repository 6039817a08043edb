package cleaner

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestThresholdHasTheGreatestExpectedF1(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for range 300 {
		scores := make([]float64, 1+r.IntN(40))
		var expected float64
		for i := range scores {
			scores[i] = math.Pow(r.Float64(), 4)
			expected += scores[i]
		}
		f1 := func(threshold float64) float64 {
			var found, flagged float64
			for _, s := range scores {
				if s > threshold {
					found += s
					flagged++
				}
			}
			return 2 * found / (flagged + expected)
		}
		got := chooseThreshold(append(scores, math.NaN()))
		if expected < 1 {
			if got != 0.5 {
				t.Fatalf("scores %v: got threshold %v, want 0.5 where not one mislabel is expected", scores, got)
			}
			continue
		}
		if !(got > 0 && got < 1) {
			t.Fatalf("scores %v: got threshold %v, want one between 0 and 1", scores, got)
		}
		for _, other := range scores {
			if f1(other) > f1(got)+1e-12 {
				t.Fatalf("scores %v: threshold %v has expected F1 %v, %v has %v", scores, got, f1(got), other, f1(other))
			}
		}
	}
}

func TestThresholdOfNothing(t *testing.T) {
	for _, scores := range [][]float64{nil, {0, 0}, {math.NaN()}} {
		if got := chooseThreshold(scores); got != 0.5 {
			t.Errorf("scores %v: got threshold %v, want 0.5", scores, got)
		}
	}
}
