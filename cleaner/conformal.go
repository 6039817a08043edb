package cleaner

import (
	"context"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/floatbits"
	"github.com/graphcleaner/graphcleaner/kv"
)

// FalsePositiveThreshold returns the threshold λ. The score of a clean node exceeds λ with probability at most alpha.
// mislabelRate is the share of mislabelled nodes; they may have any scores:
//
//	λ = s_(B),  B = ⌈(N(1−p)+1)(1−α) + Np⌉,  s_(1) ≤ … ≤ s_(N)
//
// NaN scores (unlabelled nodes) are left out of the N. If B > N, no finite threshold exists and λ is +Inf; minAlpha is
// the least alpha with a finite threshold, 1/(N(1−p)+1). If B < 1 (alpha is nearly 1), λ is the least score. Unless 0 <
// alpha < 1 and 0 ≤ mislabelRate ≤ 1, λ and minAlpha are NaN.
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
// In terms of the score, the suspects are the nodes with s > 0.5 and 1−s ≤ λ. There is no guarantee for mislabelled
// nodes with a score of 0.5 or less. Without this exception the bound would be useless at small p. The least alpha with
// a finite threshold is 1/(Np+1). Everything else is as in FalsePositiveThreshold.
func FalseNegativeThreshold(scores []float64, mislabelRate, alpha float64) (lambda, minAlpha float64) {
	numbers := withoutNaN(scores)
	for i, s := range numbers {
		numbers[i] = beyondHalf(s)
	}
	return conformalThreshold(numbers, mislabelRate, 1-mislabelRate, alpha)
}

// A StoredThreshold is a threshold of the scores of a store.
type StoredThreshold struct {
	Lambda, MinAlpha float64
	Scores           int64 // N
}

// StoredFalsePositiveThreshold is FalsePositiveThreshold of the scores of a store, the same to the bit. It reads them
// several times and holds none.
func StoredFalsePositiveThreshold(ctx context.Context, tx *kv.Tx, mislabelRate, alpha float64) (StoredThreshold, error) {
	return storedThreshold(ctx, tx, 1-mislabelRate, mislabelRate, alpha, func(s float64) float64 { return s })
}

// StoredFalseNegativeThreshold is FalseNegativeThreshold of the scores of a store, the same to the bit. It reads them
// several times and holds none.
func StoredFalseNegativeThreshold(ctx context.Context, tx *kv.Tx, mislabelRate, alpha float64) (StoredThreshold, error) {
	return storedThreshold(ctx, tx, mislabelRate, 1-mislabelRate, alpha, beyondHalf)
}

// storedThreshold finds the order statistic that conformalThreshold finds, of use(score) over the scores of a store. It
// holds none of them. A pass counts 16 bits of the numbers, the highest first, among those that agree with the order
// statistic in all higher ones.
func storedThreshold(
	ctx context.Context, tx *kv.Tx, own, other, alpha float64, use func(float64) float64,
) (t StoredThreshold, err error) {
	const digitBits = 16
	var bits uint64 // the upper bits of the order statistic
	var rank int64  // counted from 0, among the numbers that agree with bits
	counts := make([]int64, 1<<digitBits)
	for shift := 64 - digitBits; shift >= 0; shift -= digitBits {
		clear(counts)
		n := int64(0)
		err := eachScore(ctx, tx, func(s float64) {
			n++
			if key := floatbits.Order(use(s)); shift == 64-digitBits || key>>(shift+digitBits) == bits {
				counts[key>>shift&(1<<digitBits-1)]++
			}
		})
		if err != nil {
			return t, err
		}
		if shift == 64-digitBits {
			t.Scores = n
			b, minAlpha := conformalRank(float64(n), own, other, alpha)
			if t.MinAlpha = minAlpha; math.IsNaN(b) || math.IsInf(b, 1) {
				t.Lambda = b
				return t, nil
			}
			rank = int64(b) - 1
		}
		digit := uint64(0)
		for ; counts[digit] <= rank; digit++ {
			rank -= counts[digit]
		}
		bits = bits<<digitBits | digit
	}
	t.Lambda = floatbits.From(bits)
	return t, nil
}

// eachScore calls use for each score of a store, in the order of nodes.
func eachScore(ctx context.Context, tx *kv.Tx, use func(s float64)) error {
	scores, err := tx.Reader(ScoreColumn)
	if err != nil {
		return err
	}
	for v := range kv.NodeID(tx.NumNodes()) {
		if v%lookEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		s, err := scores.At(v)
		if err != nil {
			return err
		}
		if !s.IsNull() && !math.IsNaN(s.Float()) {
			use(s.Float())
		}
	}
	return nil
}

// beyondHalf is s′ of a score.
func beyondHalf(s float64) float64 {
	if s > 0.5 {
		return 1 - s
	}
	return 0
}

// conformalThreshold is the order statistic conformalRank of values, which it sorts.
func conformalThreshold(values []float64, own, other, alpha float64) (lambda, minAlpha float64) {
	b, minAlpha := conformalRank(float64(len(values)), own, other, alpha)
	if math.IsNaN(b) || math.IsInf(b, 1) {
		return b, minAlpha
	}
	slices.Sort(values)
	return values[int(b)-1], minAlpha
}

// conformalRank is B = ⌈(N·own+1)(1−α) + N·other⌉, at least 1, of n numbers, +Inf where it is more than N: own is the
// share of the nodes that the guarantee is about, other the share that may stand anywhere. It is NaN of parameters out
// of range.
func conformalRank(n, own, other, alpha float64) (b, minAlpha float64) {
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

// withoutNaN is a copy of the scores that are numbers.
func withoutNaN(scores []float64) []float64 {
	numbers := make([]float64, 0, len(scores))
	for _, s := range scores {
		if !math.IsNaN(s) {
			numbers = append(numbers, s)
		}
	}
	return numbers
}
