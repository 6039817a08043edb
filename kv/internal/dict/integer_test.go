package dict

import (
	"math"
	"testing"
)

func TestInteger(t *testing.T) {
	for id, want := range map[string]int64{"0": 0, "7": 7, "-1": -1, "9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64} {
		if got, ok := Integer(id); got != want || !ok {
			t.Errorf("%q: got %d, %v, want %d", id, got, ok, want)
		}
	}
	for _, id := range []string{"", "-", "-0", "00", "+1", "1.0", " 1", "٣", "9223372036854775808", "-9223372036854775809", "10000000000000000000"} {
		if got, ok := Integer(id); ok {
			t.Errorf("%q: got %d, want no integer", id, got)
		}
	}
}
