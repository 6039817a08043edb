package npy

import (
	"math"
	"testing"
)

// Halves from the format's edges: zeros, the least and the greatest subnormal, the least normal, the greatest number.
func TestHalf(t *testing.T) {
	for bits, want := range map[uint16]float64{
		0x0000: 0, 0x0001: 0x1p-24, 0x03ff: 1023 * 0x1p-24, 0x0400: 0x1p-14, 0x3800: 0.5, 0x3c00: 1, 0x3c01: 1 + 0x1p-10,
		0xc000: -2, 0x7bff: 65504, 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1),
	} {
		if got := half(bits); got != want {
			t.Errorf("%#04x: got %v, want %v", bits, got, want)
		}
	}
	if got := half(0x8000); got != 0 || !math.Signbit(got) {
		t.Errorf("0x8000: got %v, want -0", got)
	}
	if got := half(0x7e00); !math.IsNaN(got) {
		t.Errorf("0x7e00: got %v, want NaN", got)
	}
}
