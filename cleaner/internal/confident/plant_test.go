package confident

import (
	"math"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/kv"
)

func TestPlantFollowsItsDistribution(t *testing.T) {
	const n = 60000
	given := make([]kv.Class, n)
	for i := range given {
		given[i] = kv.Class(i % 3)
	}
	flip := [][]float64{{0, 0.25, 0.75}, {1, 0, 0}, {0.5, 0.5, 0}}
	tested := Plant(given, flip, 0.5, 7)

	counts, flipped := classmatrix.Dense(3), make([]float64, 3)
	var total int
	for i, y := range tested {
		if y != given[i] {
			counts[given[i]][y]++
			flipped[given[i]]++
			total++
		}
	}
	if total != n/2 {
		t.Errorf("planted: got %d of %d, want half", total, n)
	}
	for j := range 3 {
		if share := flipped[j] / (n / 3); math.Abs(share-0.5) > 0.02 {
			t.Errorf("class %d: got a share of %.3f planted, want 0.5", j, share)
		}
		for i := range 3 {
			if got := counts[j][i] / flipped[j]; math.Abs(got-flip[j][i]) > 0.02 {
				t.Errorf("class %d planted as %d: got %.3f, want %.3f", j, i, got, flip[j][i])
			}
		}
	}
}

func TestPlantWithNowhereToFlip(t *testing.T) {
	tested := Plant([]kv.Class{0, 0, 0, 0}, Flips(sparseMatrix([][]float64{{1}})), 1, 0)
	if !slices.Equal(tested, []kv.Class{0, 0, 0, 0}) {
		t.Errorf("one class: got %v, want nothing planted", tested)
	}
	if tested := Plant(nil, nil, 0.5, 0); len(tested) != 0 {
		t.Errorf("no rows: got %v", tested)
	}
}

func TestDrawCoversTheUnitInterval(t *testing.T) {
	weights := []float64{0, 0.1, 0.2, 0.7 - 1e-12, 0} // rounding leaves a little of [0,1)
	for _, c := range []struct {
		u    float64
		want kv.Class
	}{{0, 1}, {0.0999, 1}, {0.1, 2}, {0.2999, 2}, {0.31, 3}, {math.Nextafter(1, 0), 3}} {
		if got := Draw(weights, c.u); got != c.want {
			t.Errorf("draw at %v: got class %d, want %d", c.u, got, c.want)
		}
	}
	if got := Draw([]float64{0, 0}, 0.5); got != kv.NoClass {
		t.Errorf("draw without mass: got class %d, want none", got)
	}
}
