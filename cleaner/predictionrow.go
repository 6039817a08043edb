package cleaner

import (
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
)

// How far from 1 the probabilities of a node may add up: by the precision of numbers, and by that of two decimals, half
// of the last one for each class.
const (
	sumTolerance  = 1e-3
	halfADecimal  = 0.005
	mostTolerance = 0.1
)

// A Scaling counts the rows whose probabilities did not add up to 1, beyond the precision of numbers, and were scaled
// to.
type Scaling struct {
	Rows            int64
	Least, Greatest float64 // of the sums
}

// Scaled are the rows so far that were scaled.
func (w *PredictionWriter) Scaled() Scaling { return w.scaled }

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
	sum, problem := normalizeRow(w.row, w.classes, tolerance)
	if problem == "" && math.Abs(sum-1) > sumTolerance {
		if w.scaled.Rows++; w.scaled.Rows == 1 {
			w.scaled.Least, w.scaled.Greatest = sum, sum
		}
		w.scaled.Least, w.scaled.Greatest = min(w.scaled.Least, sum), max(w.scaled.Greatest, sum)
	}
	return problem
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

// mayBeLogits reports whether a row that is no probabilities may be logits: some are negative or above 1, and rowAdvice
// does not say what else they are.
func mayBeLogits(row []float64) bool {
	if slices.ContainsFunc(row, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) || areRounded(row) {
		return false
	}
	return (slices.Min(row) < 0 || slices.Max(row) > 1) && !addsUpTo(row, 100, mostTolerance)
}

// areRounded reports whether numbers are probabilities, but for some a bit below 0.
func areRounded(row []float64) bool {
	sum := 0.0
	for _, x := range row {
		sum += x
	}
	least := slices.Min(row)
	return least < 0 && least > -sumTolerance && math.Abs(sum-1) <= mostTolerance
}

// rowAdvice says how numbers that are no probabilities become some.
func rowAdvice(row []float64) string {
	greatest := slices.Max(row)
	switch least := slices.Min(row); {
	case math.IsNaN(least) || math.IsInf(greatest, 1):
		return ""
	case areRounded(row):
		return ": replace numbers below 0 by 0"
	case least < 0:
		return ""
	case greatest == 0:
		return ": a node without predictions has no row, or one without numbers"
	case greatest > 1+sumTolerance:
		return " (if these are percentages, counts or the like, divide each row by its sum)"
	}
	return ": divide each row by its sum"
}

// normalizeRow scales probabilities to add up to 1, and returns what they added up to, or says what is wrong with them.
func normalizeRow(row []float64, classes []string, tolerance float64) (sum float64, problem string) {
	for j, p := range row {
		if !(p >= 0 && p <= 1+sumTolerance) { // also if p is NaN
			return sum, fmt.Sprintf("class %s is %v, want a probability from 0 to 1%s", classes[j], p, rowAdvice(row))
		}
		sum += p
	}
	if math.Abs(sum-1) > tolerance {
		return sum, fmt.Sprintf("they add up to %.6g, want 1%s", sum, rowAdvice(row))
	}
	for j := range row {
		row[j] /= sum
	}
	return sum, ""
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
