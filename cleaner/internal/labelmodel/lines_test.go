package labelmodel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestFlipsOfHeldLines: lines that no row is given stand for the entries that a full matrix has.
func TestFlipsOfHeldLines(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 0))
	for range 200 {
		c := 2 + r.IntN(9)
		var some, all []int
		for i := range c {
			if all = append(all, i); r.IntN(2) == 0 {
				some = append(some, i, i)
			}
		}
		few, full, prior := newLines(c, some), newLines(c, all), 0.1+r.Float64()
		for _, i := range few.numbers {
			for k := range c {
				few.of(i)[k] = r.Float64()
			}
			copy(full.of(i), few.of(i))
		}
		for _, step := range []func(*lines){func(l *lines) { normalizeFlips(l, prior) }, blendFlips} {
			step(few)
			step(full)
			for k := range c {
				var sum float64
				for i := range c {
					if i == k {
						continue
					}
					if few.at(i, k) != full.at(i, k) {
						t.Fatalf("of true class %d given %d, lines %v of %d held: got %v, want %v", k, i, some, c, few.at(i, k), full.at(i, k))
					}
					sum += few.at(i, k)
				}
				if math.Abs(sum-1) > 1e-12 {
					t.Fatalf("true class %d: shares add up to %v, want 1", k, sum)
				}
			}
		}
		fit := &labelFit{classes: c, prior: prior}
		got, want := fit.penalty(&modelState{habits: few}), fit.penalty(&modelState{habits: full})
		if !near(got, want, 1e-9) {
			t.Fatalf("penalty with lines %v of %d held: got %v, want %v", some, c, got, want)
		}
	}
}
