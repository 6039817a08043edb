package float16

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestHalfIsNearest compares the conversion with a search among all numbers of binary16, whose values are written down
// from the format's definition.
func TestHalfIsNearest(t *testing.T) {
	var finite []float64 // ascending, from +0; its index is the number's bits
	for b := range uint16(0x7c00) {
		exponent, fraction := int(b>>10), float64(b&0x3ff)
		value := math.Ldexp(fraction, -24)
		if exponent > 0 {
			value = math.Ldexp(1024+fraction, exponent-25)
		}
		finite = append(finite, value)
		if got := Float32(b); float64(got) != value || From(got) != b || From(-got) != b|0x8000 {
			t.Fatalf("%#04x: got %v and back %#04x, want %v", b, got, From(got), value)
		}
	}
	const half = 65520 // halfway to what the next number would be
	nearest := func(x float64) uint16 {
		if x >= half {
			return 0x7c00
		}
		lo, hi := 0, len(finite)-1 // finite[lo] ≤ x, and x < finite[hi+1]
		for lo < hi {
			if middle := (lo + hi + 1) / 2; finite[middle] <= x {
				lo = middle
			} else {
				hi = middle - 1
			}
		}
		if lo == len(finite)-1 {
			return uint16(lo)
		}
		below, above := x-finite[lo], finite[lo+1]-x
		if above < below || above == below && lo%2 == 1 {
			lo++
		}
		return uint16(lo)
	}
	r := rand.New(rand.NewPCG(1, 0))
	for range 1_000_000 {
		x := math.Float32frombits(r.Uint32() & 0x7fffffff)
		if r.IntN(2) == 0 {
			x = float32(math.Ldexp(r.Float64(), r.IntN(45)-28))
		}
		if r.IntN(4) == 0 { // halfway between two
			at := r.IntN(len(finite) - 1)
			x = float32((finite[at] + finite[at+1]) / 2)
		}
		if x != x {
			continue
		}
		if got, want := From(x), nearest(float64(x)); got != want {
			t.Fatalf("%v (%#08x): got %#04x, want %#04x", x, math.Float32bits(x), got, want)
		}
		if rounded := Round(x); x >= 0x1p-14 && x <= 65504 && math.Abs(float64(rounded-x)) > 0x1p-11*float64(x) {
			t.Fatalf("%v: got %v, beyond the error that is stated", x, rounded)
		}
	}
	inf := float32(math.Inf(1))
	for x, want := range map[float32]float32{inf: inf, -inf: -inf, 65519: 65504, 65520: inf, 0x1p-25: 0,
		0x1.000002p-25: 0x1p-24} {
		if got := Round(x); got != want {
			t.Errorf("%v: got %v, want %v", x, got, want)
		}
	}
	if got := Round(float32(math.NaN())); got == got {
		t.Errorf("NaN: got %v", got)
	}
	if !math.Signbit(float64(Round(float32(math.Copysign(0, -1))))) {
		t.Error("-0: got +0")
	}
}
