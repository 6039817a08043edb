// Package conformal chooses thresholds of scores that bound how many right labels are flagged, or how many wrong ones
// are missed, in whatever order the scores put the wrong labels. It knows scores, and nothing of their source.
package conformal

import (
	"context"
	"iter"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/floatbits"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Scores are the scores of nodes in any order, the same each time that they are walked. NaN is that of a node without
// one. An error ends them.
type Scores = iter.Seq2[float64, error]

// A Threshold is one with a guarantee.
type Threshold struct {
	Lambda   float64 // +Inf: no finite threshold has the guarantee; NaN: it was asked for with parameters out of range
	MinAlpha float64 // the least alpha that has a finite one
	Scores   int64   // N, those that are NaN left out
}

// FalsePositives finds λ such that the score of a clean node exceeds it with probability at most alpha. p is the share
// of mislabelled nodes; they may have any scores:
//
//	λ = s_(B),  B = ⌈(N(1−p)+1)(1−α) + Np⌉,  s_(1) ≤ … ≤ s_(N)
//
// If B > N, no finite threshold exists and λ is +Inf; MinAlpha is 1/(N(1−p)+1). If B < 1 (alpha is nearly 1), λ is the
// least score. Unless 0 < alpha < 1 and 0 ≤ p ≤ 1, λ and MinAlpha are NaN. The scores are walked several times, and
// none is held.
func FalsePositives(scores Scores, p, alpha float64) (Threshold, error) {
	return orderStatistic(scores, 1-p, p, alpha, func(s float64) float64 { return s })
}

// FalseNegatives finds λ on s′ = (1−s)·[s > 0.5] that a mislabelled node's s′ exceeds with probability at most alpha:
//
//	λ = s′_(B),  B = ⌈(Np+1)(1−α) + N(1−p)⌉,  s′_(1) ≤ … ≤ s′_(N)
//
// In terms of the score, the suspects are the nodes with s > 0.5 and 1−s ≤ λ. There is no guarantee for mislabelled
// nodes with a score of 0.5 or less. Without this exception the bound would be useless at small p. MinAlpha is
// 1/(Np+1). Everything else is as in FalsePositives.
func FalseNegatives(scores Scores, p, alpha float64) (Threshold, error) {
	return orderStatistic(scores, p, 1-p, alpha, func(s float64) float64 {
		if s > 0.5 {
			return 1 - s
		}
		return 0
	})
}

// orderStatistic finds the number of the rank, of use(score). A pass counts 16 bits of the numbers, the highest first,
// among those that agree with the order statistic in all higher ones.
func orderStatistic(scores Scores, own, other, alpha float64, use func(float64) float64) (t Threshold, err error) {
	const digitBits = 16
	var bits uint64    // the upper bits of the order statistic
	var position int64 // counted from 0, among the numbers that agree with bits
	counts := make([]int64, 1<<digitBits)
	for shift := 64 - digitBits; shift >= 0; shift -= digitBits {
		clear(counts)
		t.Scores = 0
		for s, err := range scores {
			if err != nil {
				return t, err
			}
			if s != s {
				continue
			}
			t.Scores++
			if key := floatbits.Order(use(s)); shift == 64-digitBits || key>>(shift+digitBits) == bits {
				counts[key>>shift&(1<<digitBits-1)]++
			}
		}
		if shift == 64-digitBits {
			b, minAlpha := rank(float64(t.Scores), own, other, alpha)
			if t.MinAlpha = minAlpha; math.IsNaN(b) || math.IsInf(b, 1) {
				t.Lambda = b
				return t, nil
			}
			position = int64(b) - 1
		}
		digit := uint64(0)
		for ; counts[digit] <= position; digit++ {
			position -= counts[digit]
		}
		bits = bits<<digitBits | digit
	}
	t.Lambda = floatbits.From(bits)
	return t, nil
}

// rank is B = ⌈(N·own+1)(1−α) + N·other⌉, at least 1, of n numbers, +Inf where it is more than N: own is the share of
// the nodes that the guarantee is about, other the share that may stand anywhere. It is NaN of parameters out of range.
func rank(n, own, other, alpha float64) (b, minAlpha float64) {
	if !(alpha > 0 && alpha < 1 && own >= 0 && own <= 1) {
		return math.NaN(), math.NaN()
	}
	minAlpha = 1 / (float64(n*own) + 1)
	// B is often a whole number in exact arithmetic, at minAlpha itself for one: what rounding adds must not lift it to
	// the next.
	b = math.Ceil((float64((float64(n*own)+1)*(1-alpha)) + float64(n*other)) * (1 - 1e-14))
	if b > n {
		return math.Inf(1), minAlpha
	}
	return max(b, 1), minAlpha
}

// lookEvery is how many nodes are read between two looks at the context.
const lookEvery = 512

// Stored are the scores of a store.
func Stored(ctx context.Context, tx *kv.Tx) Scores {
	return func(yield func(float64, error) bool) {
		scores, err := tx.Reader(decide.ScoreColumn)
		if err != nil {
			yield(0, err)
			return
		}
		for v := range kv.NodeID(tx.NumNodes()) {
			s, err := scores.At(v)
			if err == nil && v%lookEvery == 0 {
				err = ctx.Err()
			}
			if !yield(s.Float(), err) || err != nil { // NaN of null
				return
			}
		}
	}
}
