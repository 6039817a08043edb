package cleaner

import (
	"math"
	"slices"
)

// chooseThreshold returns the threshold with the greatest expected F1, where scores are chances of being mislabelled
// that hold: of the nodes sorted by score, s_1 ≥ s_2 ≥ …, flagging the first k has expected F1, up to a term of order
// 1/N,
//
//	2 Σ_{i≤k} s_i / (k + Σ_i s_i)
//
// and the threshold lies between s_k and s_(k+1) for the best k. NaN scores are left out. Where not even one mislabel is
// expected, that term is all there is, and the threshold is one half.
func chooseThreshold(scores []float64) float64 {
	sorted := slices.DeleteFunc(slices.Clone(scores), math.IsNaN)
	slices.SortFunc(sorted, func(a, b float64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	var expected float64
	for _, s := range sorted {
		expected += s
	}
	if expected < 1 {
		return 0.5
	}
	var found, most float64
	best := 0
	for i, s := range sorted {
		found += s
		if f1 := 2 * found / (float64(i+1) + expected); f1 > most {
			best, most = i, f1
		}
	}
	next := 0.0
	if best+1 < len(sorted) {
		next = sorted[best+1]
	}
	const margin = 1e-6 // a threshold is between 0 and 1
	return min(max((sorted[best]+next)/2, margin), 1-margin)
}
