package cleaner

import (
	"math"

	"github.com/graphcleaner/graphcleaner/kv"
)

// ClassThresholds returns t_j, the mean predicted chance of j among the rows given label j [classes]. A class given to
// no row takes no part: its threshold is NaN.
//
// p holds the predictions of the fitting nodes, row-major [len(given)×classes]; a row given NoClass is left out.
func ClassThresholds[F float32 | float64](p []F, given []kv.Class, classes int) []float64 {
	t := newThresholdSum(classes)
	for r, y := range given {
		if y != kv.NoClass {
			t.add(y, float64(p[r*classes+int(y)]))
		}
	}
	return t.thresholds()
}

// A thresholdSum gathers class thresholds row by row, so that predictions need not be held at once. Sums of float32
// predictions are exact in float64 up to 2^29 rows, so a class whose rows all predict the same reaches its own
// threshold.
type thresholdSum struct {
	sum, count []float64 // by class
}

func newThresholdSum(classes int) *thresholdSum {
	return &thresholdSum{sum: make([]float64, classes), count: make([]float64, classes)}
}

// add takes one row given label y, p its predicted chance of y.
func (t *thresholdSum) add(y kv.Class, p float64) {
	t.sum[y] += p
	t.count[y]++
}

func (t *thresholdSum) thresholds() []float64 {
	mean := make([]float64, len(t.sum))
	for j := range mean {
		mean[j] = t.sum[j] / t.count[j] // 0/0 is NaN: the class takes no part
	}
	return mean
}

// ConfidentJoint returns the counts C[i][j] of rows with given label i whose class j has the largest prediction among
// the classes l with P[v][l] ≥ t_l; [c×c], c = len(thresholds). Where several have the largest, the row counts as rightly
// labelled if the given label is one of them, and is not counted otherwise. Nor is a row that reaches no threshold. The
// diagonal is counted too, as the appendix of arXiv:2306.00015 has it.
//
// p is as in ClassThresholds.
func ConfidentJoint[F float32 | float64](p []F, given []kv.Class, thresholds []float64) *ClassMatrix {
	c := len(thresholds)
	counts := make(map[uint64]uint32)
	for r, y := range given {
		if y == kv.NoClass {
			continue
		}
		if j := confidentClass(p[r*c:(r+1)*c], y, thresholds); j != kv.NoClass {
			counts[uint64(y)*uint64(c)+uint64(j)]++
		}
	}
	return countedCells(c, counts)
}

// confidentClass is the class with the largest prediction among those that reach their threshold, NoClass where none
// does. Of several it is the given one, or else NoClass. A NaN threshold is never reached.
func confidentClass[F float32 | float64](row []F, given kv.Class, thresholds []float64) kv.Class {
	best, most := kv.NoClass, math.Inf(-1)
	for j, t := range thresholds {
		switch p := float64(row[j]); {
		case !(p >= t):
		case p > most:
			best, most = kv.Class(j), p
		case p == most && kv.Class(j) == given:
			best = given
		case p == most && best != given:
			best = kv.NoClass
		}
	}
	return best
}

// JointDistribution estimates the joint distribution of given label i and true label j [c×c]: row i of the confident
// joint normalised, times the number of fitting nodes given i, the whole divided by its sum. A row of the confident
// joint without a count stays zero. Where nothing was counted at all it is all zero.
func JointDistribution(joint *ClassMatrix, givenCounts []float64) *ClassMatrix {
	distribution, counted := &ClassMatrix{Classes: joint.Classes}, make([]float64, joint.Classes)
	for _, cell := range joint.Cells {
		counted[cell.Row] += cell.Value
	}
	var total float64
	for _, cell := range joint.Cells {
		if counted[cell.Row] == 0 {
			continue
		}
		cell.Value = float64(cell.Value / counted[cell.Row] * givenCounts[cell.Row])
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

// mislabelRate is the mass of the joint distribution off its diagonal: the share of labels estimated to be wrong.
func mislabelRate(distribution *ClassMatrix) float64 {
	var rate float64
	for _, cell := range distribution.Cells {
		if cell.Row != cell.Column {
			rate += cell.Value
		}
	}
	return rate
}

// newMatrix is a zero [n×n] matrix whose rows share one allocation.
func newMatrix(n int) [][]float64 {
	rows, values := make([][]float64, n), make([]float64, n*n)
	for i := range rows {
		rows[i] = values[i*n : (i+1)*n : (i+1)*n]
	}
	return rows
}
