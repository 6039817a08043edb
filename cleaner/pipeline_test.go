package cleaner

import (
	"strings"
	"testing"
)

func TestDoubtOfTheRate(t *testing.T) {
	for _, c := range []struct {
		joint, rate float64
		want        string
	}{
		{0.35, 0.10, "estimated at 10.0%, but the predictions contradict 35% of the labels"},
		{0.35, 0.20, ""},  // they differ, as they do where classes are hard to tell
		{0.15, 0.001, ""}, // few labels are contradicted
	} {
		s := &scored{rate: c.rate}
		s.noise.distribution = sparseMatrix([][]float64{{0.5, c.joint / 2}, {c.joint / 2, 0.5 - c.joint}})
		if got := s.doubt(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("joint %v, rate %v: got %q, want %q", c.joint, c.rate, got, c.want)
		}
	}
}
