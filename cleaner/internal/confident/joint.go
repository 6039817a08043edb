// Package confident estimates how labels go wrong by confident learning (arXiv:1911.00068), and plants wrong labels
// that go the same way. It knows predictions and labels, and neither a graph nor a store.
package confident

import (
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A ThresholdSum gathers class thresholds row by row, so that predictions need not be held at once. The threshold of a
// class is the mean predicted chance of it among the nodes that are given it. Sums of float32 predictions are exact in
// float64 up to 2^29 rows, so a class whose rows all predict the same reaches its own threshold.
type ThresholdSum struct {
	Sum   []float64 // of the predicted chances, by class
	Count []float64 // rows by class
}

// NewThresholdSum is that of no rows.
func NewThresholdSum(classes int) *ThresholdSum {
	return &ThresholdSum{Sum: make([]float64, classes), Count: make([]float64, classes)}
}

// Add takes one row given label y, p its predicted chance of y.
func (t *ThresholdSum) Add(y kv.Class, p float64) {
	t.Sum[y] += p
	t.Count[y]++
}

// Thresholds are the means [classes]. A class of no row takes no part: its threshold is NaN.
func (t *ThresholdSum) Thresholds() []float64 {
	mean := make([]float64, len(t.Sum))
	for j := range mean {
		mean[j] = t.Sum[j] / t.Count[j] // 0/0 is NaN: the class takes no part
	}
	return mean
}

// Class is the class with the largest prediction among those that reach their threshold, NoClass where none does. In a
// tie it is the given label, or else NoClass. A NaN threshold is never reached.
func Class[F float32 | float64](row []F, label kv.Class, thresholds []float64) kv.Class {
	best, most := kv.NoClass, math.Inf(-1)
	for j, t := range thresholds {
		switch p := float64(row[j]); {
		case !(p >= t):
		case p > most:
			best, most = kv.Class(j), p
		case p == most && kv.Class(j) == label:
			best = label
		case p == most && best != label:
			best = kv.NoClass
		}
	}
	return best
}

// JointDistribution estimates the joint distribution of given label i and true label j [c×c]: row i of the confident
// joint normalised, times the number of fitting nodes given i, the whole divided by its sum. A row of the confident
// joint without a count stays zero. Where nothing was counted at all it is all zero.
func JointDistribution(joint *classmatrix.Matrix, givenCounts []float64) *classmatrix.Matrix {
	distribution, rowSums := &classmatrix.Matrix{Classes: joint.Classes}, make([]float64, joint.Classes)
	for _, cell := range joint.Cells {
		rowSums[cell.Row] += cell.Value
	}
	var total float64
	for _, cell := range joint.Cells {
		if rowSums[cell.Row] == 0 {
			continue
		}
		cell.Value = float64(cell.Value / rowSums[cell.Row] * givenCounts[cell.Row])
		total += cell.Value
		distribution.Cells = append(distribution.Cells, cell)
	}
	if total != 0 {
		for i := range distribution.Cells {
			distribution.Cells[i].Value /= total
		}
	}
	return distribution
}
