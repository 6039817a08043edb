package cleaner

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPairedTest(t *testing.T) {
	of := func(f1 ...float64) (some []Metrics) {
		for _, x := range f1 {
			some = append(some, Metrics{F1: x, Flagged: 1, Mislabelled: 1})
		}
		return some
	}
	first := of(0.50, 0.60, 0.55, 0.70, 0.65)
	// Differences .02 .01 .03 .02 .02: mean .02, deviation .00707107, t = 6.32456 with 4 degrees of freedom. A table of
	// Student's t has P(|T| > 6.3246) = 0.0032.
	p := pairedTest(of(0.52, 0.61, 0.58, 0.72, 0.67), first)
	if math.Abs(p.F1-0.0032) > 5e-5 {
		t.Errorf("p of the F1: got %v, want 0.0032", p.F1)
	}
	if p.MCC != 1 {
		t.Errorf("p of metrics that are the same: got %v, want 1", p.MCC)
	}
	if p := pairedTest(of(0.2), of(0.1)); p != nil {
		t.Errorf("one pair: got %v, want none", p.F1)
	}
	if p := pairedTest(of(0.5, 0.75), of(0.25, 0.5)); p.F1 != 0 {
		t.Errorf("differences that are all .25: got %v, want 0", p.F1)
	}
	// Where one of a pair has none, the pair is left out.
	undefined := slices.Concat(of(0.52, 0.61, 0.58), []Metrics{{}}, of(0.72, 0.67))
	p = pairedTest(undefined, of(0.50, 0.60, 0.55, 0.9, 0.70, 0.65))
	if math.Abs(p.F1-0.0032) > 5e-5 {
		t.Errorf("p of the F1 with one that is undefined: got %v, want 0.0032", p.F1)
	}
}

// TestPairedTestKeepsItsLevel compares equal methods: one in twenty must have p below 0.05.
func TestPairedTestKeepsItsLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	const trials = 4000
	below := 0
	for range trials {
		var a, b []Metrics
		for range 5 {
			draw := r.NormFloat64() // which both share
			a = append(a, Metrics{F1: draw + 0.3*r.NormFloat64(), Flagged: 1})
			b = append(b, Metrics{F1: draw + 0.3*r.NormFloat64(), Flagged: 1})
		}
		if pairedTest(a, b).F1 < 0.05 {
			below++
		}
	}
	if share := float64(below) / trials; share < 0.035 || share > 0.065 {
		t.Errorf("got p below 0.05 in %.3f of the comparisons, want 0.05", share)
	}
}
