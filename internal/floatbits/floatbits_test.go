package floatbits

import (
	"math"
	"slices"
	"testing"
)

func TestBitsAreOrderedAsTheNumbers(t *testing.T) {
	numbers := []float64{
		math.Inf(-1), -math.MaxFloat64, -1, -math.SmallestNonzeroFloat64, math.Copysign(0, -1), 0,
		math.SmallestNonzeroFloat64, 0.5, 1,
		math.MaxFloat64, math.Inf(1), math.NaN(),
	}
	var bits []uint64
	for _, x := range numbers {
		bits = append(bits, Order(x))
		if got := From(Order(x)); math.Float64bits(got) != math.Float64bits(x) {
			t.Errorf("%g and back: got %g", x, got)
		}
	}
	if !slices.IsSorted(bits) || len(slices.Compact(bits)) != len(numbers) {
		t.Errorf("got %x of %g", bits, numbers)
	}
}
