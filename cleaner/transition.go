package cleaner

import "math"

// TransitionMatrix estimates how often a node of true class j was given label i, Q[i][j] = P(ỹ = i | y* = j) [c×c]:
// each column of the joint distribution divided by its sum. A column without mass, a class that no row confidently has,
// is NaN.
func TransitionMatrix(joint *ClassMatrix) *ClassMatrix {
	mass := make([]float64, joint.Classes)
	for _, cell := range joint.Cells {
		mass[cell.Column] += cell.Value
	}
	transition := &ClassMatrix{Classes: joint.Classes, empty: make([]bool, joint.Classes)}
	for j := range mass {
		transition.empty[j] = mass[j] == 0
	}
	for _, cell := range joint.Cells {
		if !transition.empty[cell.Column] {
			cell.Value /= mass[cell.Column]
			transition.Cells = append(transition.Cells, cell)
		}
	}
	return transition
}

// FlipDistribution returns what synthetic mislabels are drawn from [c×c]: row j is the distribution of the label that
// is planted on a node labelled j. It is column j of the transition matrix without its diagonal, renormalised; where
// the column has no mass off the diagonal, or is NaN, it is uniform over the other classes. With a single class there
// is no other, and the row is zero.
func FlipDistribution(transition *ClassMatrix) [][]float64 {
	c := transition.Classes
	flip, mass := newMatrix(c), make([]float64, c)
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

// uniformFlips is FlipDistribution of a transition matrix that says nothing.
func uniformFlips(classes int) [][]float64 {
	return FlipDistribution(&ClassMatrix{Classes: classes})
}

// noise is what the fitting set says of how labels go wrong.
type noise struct {
	givenCounts  []float64    // fitting nodes by given label [c]
	thresholds   []float64    // ClassThresholds [c]
	joint        *ClassMatrix // ConfidentJoint
	distribution *ClassMatrix // JointDistribution
	transition   *ClassMatrix // TransitionMatrix
}

// newNoise completes the noise of a confident joint.
func newNoise(givenCounts, thresholds []float64, joint *ClassMatrix) noise {
	distribution := JointDistribution(joint, givenCounts)
	return noise{
		givenCounts:  givenCounts,
		thresholds:   thresholds,
		joint:        joint,
		distribution: distribution,
		transition:   TransitionMatrix(distribution),
	}
}
