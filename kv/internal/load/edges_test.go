package load

import (
	"errors"
	"testing"
)

// Whatever order goroutines find invalid edges in, the one that is told is that of the least positions.
func TestInvalidEdgeOfLeastPositions(t *testing.T) {
	type found struct{ p, q uint32 }
	for _, order := range [][]found{
		{{1, 5}, {2, 3}, {1, 7}}, {{2, 3}, {1, 7}, {1, 5}}, {{1, 7}, {1, 5}, {2, 3}},
	} {
		var e invalidEdge
		for _, at := range order {
			e.note(at.p, at.q, errors.New("wrong"))
		}
		if e.p != 1 || e.q != 5 {
			t.Errorf("found in the order %v: told %d and %d, want 1 and 5", order, e.p, e.q)
		}
	}
}
