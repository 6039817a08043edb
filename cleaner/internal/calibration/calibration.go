// Package calibration moves scores so that their mean is a rate, and chooses a threshold. It knows chances, and nothing of their
// source.
package calibration

import (
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
)

// Logit is the inverse of the sigmoid.
func Logit(p float64) float64 { return elementary.Log(p) - elementary.Log(1-p) }

// Shift is δ so that the mean of σ(l+δ) over the log-odds l of scores is a rate. NaN does not count.
func Shift(logOdds []float64, rate float64) float64 {
	const (
		mostShift  = 64
		bisections = 48
	)
	counted := slices.DeleteFunc(slices.Clone(logOdds), math.IsNaN)
	if len(counted) == 0 {
		return 0
	}
	low, high := -float64(mostShift), float64(mostShift)
	powers := make([]float64, len(counted)) // of e: a sigmoid is 1/(1+power)
	for range bisections {
		shift := float64((low + high) / 2)
		for i, l := range counted {
			powers[i] = -(l + shift)
		}
		elementary.Exps(powers)
		var sum float64
		for _, power := range powers {
			sum += 1 / (1 + power)
		}
		if sum < rate*float64(len(counted)) {
			low = shift
		} else {
			high = shift
		}
	}
	return (low + high) / 2
}

// edge keeps a threshold from 0 and 1.
const edge = 1e-6

// Threshold is between the scores that are flagged and those that are not, for the greatest expected F1,
//
//	2 Σ_{flagged} s / (flags + Σ s)
//
// and a half where not one wrong label is expected. NaN does not count.
func Threshold(scores []float64) float64 {
	descending := slices.DeleteFunc(slices.Clone(scores), math.IsNaN)
	slices.SortFunc(descending, func(a, b float64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	var whole, hits, most float64
	for _, s := range descending {
		whole += s
	}
	if whole < 1 {
		return 0.5
	}
	cut := 0.0
	for i, s := range descending {
		hits += s
		if f1 := 2 * hits / (float64(i+1) + whole); f1 > most {
			if most, cut = f1, 0; i+1 < len(descending) {
				cut = (s + descending[i+1]) / 2
			}
		}
	}
	return min(max(cut, edge), 1-edge)
}
