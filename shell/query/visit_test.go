package query

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSortVisits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	for _, n := range []int{0, 1, manyVisits - 1, manyVisits, 5000} {
		for _, most := range []uint32{0, 1, 1 << digitBits, 1<<(2*digitBits) + 1, 1<<32 - 1} {
			visits := make([]visit, n)
			for i := range visits {
				visits[i] = newVisit(r.Uint32N(max(most, 1)), i)
			}
			if n > 0 {
				visits[n/2] = newVisit(most, n/2)
			}
			want := slices.Sorted(slices.Values(visits)) // equal ones in the order of their rows, as radix sorting leaves them
			if sortVisits(visits); !slices.Equal(visits, want) {
				t.Errorf("%d visits of up to %d are not in order", n, most)
			}
		}
	}
}
