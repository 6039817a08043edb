package confident

import (
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
)

// Flips returns the matrix that synthetic mislabels are drawn from [c×c]: row j is the distribution of the label that
// is planted on a node labelled j. It is column j of the transition matrix without its diagonal, renormalised; where
// the column has no mass off the diagonal, or is NaN, it is uniform over the other classes. With a single class there
// is no other, and the row is zero.
func Flips(transition *classmatrix.Matrix) [][]float64 {
	c := transition.Classes
	flip, mass := classmatrix.Dense(c), make([]float64, c)
	for _, cell := range transition.Cells {
		if cell.Row != cell.Column {
			flip[cell.Column][cell.Row] = cell.Value
			mass[cell.Column] += cell.Value
		}
	}
	for j, row := range flip {
		for i := range row {
			switch {
			case i == j:
			case mass[j] > 0 && !math.IsInf(mass[j], 0):
				row[i] /= mass[j]
			default: // also where the column is NaN
				row[i] = 1 / float64(c-1)
			}
		}
	}
	return flip
}

// UniformFlips are Flips of a transition matrix that says nothing.
func UniformFlips(classes int) [][]float64 {
	return Flips(&classmatrix.Matrix{Classes: classes})
}

// MislabelRate is the mass of a JointDistribution off its diagonal: the share of labels estimated to be wrong.
func MislabelRate(distribution *classmatrix.Matrix) float64 {
	var rate float64
	for _, cell := range distribution.Cells {
		if cell.Row != cell.Column {
			rate += cell.Value
		}
	}
	return rate
}
