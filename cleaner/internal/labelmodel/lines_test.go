package labelmodel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRatesOfHeldLines: lines that no row is given stand for the entries that a full matrix has.
func TestRatesOfHeldLines(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 0))
	for range 200 {
		c := 2 + r.IntN(9)
		var some, all []int
		right := make([]float64, c)
		for i := range c {
			right[i] = 50 * r.Float64()
			if all = append(all, i); r.IntN(2) == 0 {
				some = append(some, i, i)
			}
		}
		few, full := newLines(c, some), newLines(c, all)
		for _, i := range few.numbers {
			for k := range c {
				few.of(i)[k] = r.Float64()
			}
			copy(full.of(i), few.of(i))
		}
		alike := r.IntN(2) == 0
		got, want := newChannel(few, right, alike), newChannel(full, right, alike)
		if !slices.Equal(got.right, want.right) {
			t.Fatalf("lines %v of %d held: got chances of right labels %v, want %v", some, c, got.right, want.right)
		}
		for k := range c {
			for i := range c {
				if got.of(i, k) != want.of(i, k) {
					t.Fatalf("of true class %d given %d, lines %v of %d held: got %v, want %v", k, i, some, c, got.of(i, k), want.of(i, k))
				}
			}
		}
	}
}
