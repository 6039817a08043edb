package cleaner

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

// normalize puts the probabilities of row into w.row, or says what is wrong with it.
func (w *PredictionWriter) normalize(row []float64) (problem string) {
	if len(row) != len(w.classes) {
		return fmt.Sprintf("got %d numbers, want %d, one a class", len(row), len(w.classes))
	}
	copy(w.row, row)
	tolerance := max(sumTolerance, min(halfADecimal*float64(len(row)), mostTolerance)) * (1 + 1e-9)
	if w.opt.Logits {
		if addsUpTo(row, 1, tolerance) || addsUpTo(row, 100, tolerance) {
			w.distributions++
		}
		if problem = softmax(w.row, w.classes); problem != "" {
			return problem
		}
	}
	return normalizeRow(w.row, w.classes, tolerance)
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
		if !(p >= 0 && p <= 1+sumTolerance) { // also if p is NaN
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
