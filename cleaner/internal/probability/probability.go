// Package probability checks rows of probabilities. It knows no nodes.
package probability

import (
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
)

// How far from 1 the probabilities of a node may add up: by the precision of numbers, and by that of two decimals, half
// of the last one for each class.
const (
	sumTolerance  = 1e-3
	halfADecimal  = 0.005
	mostTolerance = 0.1
)

// Normalize scales the probabilities of classes in row to add up to 1, or says what is wrong with them. Of logits it
// makes probabilities; isDistribution says that they are none.
func Normalize(row []float64, classes []string, areLogits bool) (isDistribution bool, problem string) {
	tolerance := max(sumTolerance, min(halfADecimal*float64(len(row)), mostTolerance)) * (1 + 1e-9)
	if areLogits {
		isDistribution = addsUpTo(row, 1, tolerance) || addsUpTo(row, 100, tolerance)
		if problem = softmax(row, classes); problem != "" {
			return isDistribution, problem
		}
	}
	return isDistribution, normalizeRow(row, classes, tolerance)
}

// addsUpTo reports whether numbers, none of them negative, add up to a whole.
func addsUpTo(row []float64, whole, tolerance float64) bool {
	sum := 0.0
	for _, p := range row {
		if !(p >= 0) {
			return false
		}
		sum += p
	}
	return math.Abs(sum-whole) <= tolerance*whole
}

// normalizeRow scales probabilities to add up to 1, or says what is wrong with them.
func normalizeRow(row []float64, classes []string, tolerance float64) (problem string) {
	sum := 0.0
	for j, p := range row {
		if math.IsNaN(p) {
			return fmt.Sprintf("class %s has no number, want a probability from 0 to 1, or a row without any number for a node "+
				"without predictions", classes[j])
		}
		if p < 0 || p > 1+sumTolerance {
			return fmt.Sprintf("class %s is %v, want a probability from 0 to 1, or a word that these are logits", classes[j], p)
		}
		sum += p
	}
	if math.Abs(sum-1) > tolerance {
		return fmt.Sprintf("they add up to %.6g, want 1", sum)
	}
	for j := range row {
		row[j] /= sum
	}
	return ""
}

// softmax turns logits into probabilities, or says what is wrong with them. Taking the greatest away first keeps
// every exponential from overflowing.
func softmax(row []float64, classes []string) (problem string) {
	greatest := math.Inf(-1)
	for j, x := range row {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Sprintf("class %s is %v, want a finite logit", classes[j], x)
		}
		greatest = max(greatest, x)
	}
	for j := range row {
		row[j] -= greatest
	}
	elementary.Exps(row)
	var sum float64
	for _, e := range row {
		sum += e
	}
	for j := range row {
		row[j] /= sum
	}
	return ""
}
