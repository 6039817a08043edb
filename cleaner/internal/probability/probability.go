// Package probability checks rows of probabilities, and rounds them as a matrix keeps them. It knows no nodes.
package probability

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/float16"
	"github.com/graphcleaner/graphcleaner/kv"
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

// A Keeper makes rows of probabilities what an encoding keeps of them.
type Keeper struct {
	Encoding kv.MatrixEncoding
	top      []int     // the largest classes of a row, descending
	values   []float32 // of these classes, as they are kept
	output   []float32 // of the last row
}

// NewKeeper keeps rows of so many classes.
func NewKeeper(encoding kv.MatrixEncoding, classes int) Keeper {
	return Keeper{Encoding: encoding, output: make([]float32, classes)}
}

// Keep returns a row as it is kept, borrowed until the next one.
func (k *Keeper) Keep(row []float64) (output []float32) {
	for j, p := range row {
		k.output[j] = float32(p)
	}
	if k.Encoding.Shares(len(row)) {
		k.share(row)
	} else if k.Encoding.Half {
		for j, p := range k.output {
			k.output[j] = float16.Round(p)
		}
	}
	return k.output
}

// share gives all classes but the largest the same share of what these leave.
func (k *Keeper) share(row []float64) {
	k.top = k.top[:0]
	for j, p := range row {
		if len(k.top) == k.Encoding.Kept && !(p > row[k.top[len(k.top)-1]]) {
			continue
		}
		at := sort.Search(len(k.top), func(i int) bool { return row[k.top[i]] < p })
		if len(k.top) == k.Encoding.Kept {
			k.top = k.top[:len(k.top)-1]
		}
		k.top = slices.Insert(k.top, at, j)
	}
	rest := 1.0
	k.values = k.values[:0]
	for _, j := range k.top {
		p := k.output[j]
		if k.Encoding.Half {
			p = float16.Round(p)
		}
		k.values = append(k.values, p)
		rest -= float64(p)
	}
	fill := float32(max(rest, 0) / float64(len(row)-len(k.top)))
	for j := range k.output {
		k.output[j] = fill
	}
	for i, j := range k.top {
		k.output[j] = k.values[i]
	}
}
