// Package calibration moves scores so that their mean is a rate, and chooses a threshold. It knows chances, and
// nothing of their source.
package calibration

import (
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
)

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

// Slopes that Fit tries: exp(±step·i).
const (
	slopeStep  = 0.25
	leastSlope = -6
	mostSlope  = 4

	// slopeSpread is the standard deviation of log b before anything is known.
	slopeSpread = 0.5
)

// Fit makes chances p = σ(a + b·l) of the log-odds l of labels, which are finite. Their mean is the rate, and they
// fit what is known of drawn labels: a by b from the mean, and b where
//
//	Σ_{drawn and wrong} log p + Σ_{drawn and right} log(1−p) − (log b)²/(2·0.5²)
//
// is greatest. It returns a and log b. A rate of none is taken for half a draw of so many draws as the rate rests on,
// or for the mean of the chances as they were, where that is less; one of all for the same of the right ones.
func Fit(logOdds, drawn []float64, wrong []bool, rate float64, draws int) (shift, logSlope float64) {
	var mean float64
	for _, l := range logOdds {
		mean += elementary.Sigmoid(l) / float64(len(logOdds))
	}
	half := 0.5 / float64(draws)
	rate = min(max(rate, min(half, mean)), max(1-half, mean))
	most, scaled := math.Inf(-1), make([]float64, len(logOdds))
	for i := leastSlope; i <= mostSlope; i++ {
		log := slopeStep * float64(i)
		slope := elementary.Exp(log)
		for j, l := range logOdds {
			scaled[j] = float64(slope * l)
		}
		a := Shift(scaled, rate)
		fit := -float64(log*log) / (2 * slopeSpread * slopeSpread)
		for j, l := range drawn {
			x := a + float64(slope*l)
			if !wrong[j] {
				x = -x
			}
			fit += elementary.Log(elementary.Sigmoid(x))
		}
		if fit > most {
			most, shift, logSlope = fit, a, log
		}
	}
	return shift, logSlope
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
