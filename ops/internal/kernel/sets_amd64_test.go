//go:build !purego

package kernel

import "testing"

func TestSlowToExtract(t *testing.T) {
	for _, c := range []struct {
		family uint32
		want   bool
	}{{6, false}, {0x14, false}, {0x15, true}, {0x17, true}, {0x18, true}, {0x19, false}, {0x1a, false}} {
		if got := slowToExtract(c.family); got != c.want {
			t.Errorf("family %#x: got %v, want %v", c.family, got, c.want)
		}
	}
	if got := family(); got < 6 || got > 0xff {
		t.Errorf("this processor: got the family %#x, want one with 64 bits", got)
	}
}
