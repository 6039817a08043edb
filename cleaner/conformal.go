package cleaner

import (
	"math"
	"slices"
)

// FalsePositiveThreshold returns the threshold λ that a clean node's score exceeds with probability at most alpha,
// when the share mislabelRate of the scores belongs to mislabelled nodes, wherever those stand in the order:
//
//	λ = s_(B),  B = ⌈(N(1−p)+1)(1−α) + Np⌉,  s_(1) ≤ … ≤ s_(N)
//
// NaN scores (unlabelled nodes) are left out of the N. Where B > N no finite threshold exists and λ is +Inf; minAlpha
// is the least alpha that has one, 1/(N(1−p)+1). Where B < 1, which only an alpha of nearly 1 reaches, λ is the least
// score. Unless 0 < alpha < 1 and 0 ≤ mislabelRate ≤ 1, λ and minAlpha are NaN.
//
// scores is left as it is.
func FalsePositiveThreshold(scores []float64, mislabelRate, alpha float64) (lambda, minAlpha float64) {
	return conformalThreshold(withoutNaN(scores), 1-mislabelRate, mislabelRate, alpha)
}

// FalseNegativeThreshold returns the threshold λ on s′ = (1−s)·[s > 0.5] that a mislabelled node's s′ exceeds with
// probability at most alpha:
//
//	λ = s′_(B),  B = ⌈(Np+1)(1−α) + N(1−p)⌉,  s′_(1) ≤ … ≤ s′_(N)
//
// In terms of the score, the suspects are the nodes with s > 0.5 and 1−s ≤ λ; the guarantee is silent about mislabelled
// nodes that score 0.5 or less, which is the price of the modification that makes it useful at small p. The least alpha
// that has a finite threshold is 1/(Np+1). Everything else is as in FalsePositiveThreshold.
func FalseNegativeThreshold(scores []float64, mislabelRate, alpha float64) (lambda, minAlpha float64) {
	modified := withoutNaN(scores)
	for i, s := range modified {
		if s > 0.5 {
			modified[i] = 1 - s
		} else {
			modified[i] = 0
		}
	}
	return conformalThreshold(modified, mislabelRate, 1-mislabelRate, alpha)
}

// conformalThreshold is the order statistic B = ⌈(N·own+1)(1−α) + N·other⌉ of values, which it sorts: own is the share
// of the nodes that the guarantee is about, other the share that may stand anywhere.
func conformalThreshold(values []float64, own, other, alpha float64) (lambda, minAlpha float64) {
	if !(alpha > 0 && alpha < 1 && own >= 0 && own <= 1) {
		return math.NaN(), math.NaN()
	}
	n := float64(len(values))
	minAlpha = 1 / (n*own + 1)
	// B is often a whole number in exact arithmetic, at minAlpha itself for one: what rounding adds must not lift it to
	// the next.
	b := math.Ceil(((n*own+1)*(1-alpha) + n*other) * (1 - 1e-14))
	if b > n {
		return math.Inf(1), minAlpha
	}
	slices.Sort(values)
	return values[max(int(b), 1)-1], minAlpha
}

// withoutNaN is a copy of the scores that are numbers.
func withoutNaN(scores []float64) []float64 {
	kept := make([]float64, 0, len(scores))
	for _, s := range scores {
		if !math.IsNaN(s) {
			kept = append(kept, s)
		}
	}
	return kept
}
