package cleaner

import "math"

// TransitionMatrix estimates how often a node of true class j was given label i, Q[i][j] = P(ỹ = i | y* = j) [c×c]:
// each column of the joint distribution divided by its sum. A column without mass, a class that no row confidently has,
// is NaN.
func TransitionMatrix(joint [][]float64) [][]float64 {
	c := len(joint)
	transition := newMatrix(c)
	for j := range c {
		var mass float64
		for i := range c {
			mass += joint[i][j]
		}
		for i := range c {
			transition[i][j] = joint[i][j] / mass // 0/0 is NaN
		}
	}
	return transition
}

// FlipDistribution returns what synthetic mislabels are drawn from [c×c]: row j is the distribution of the label that
// is planted on a node labelled j. It is column j of the transition matrix without its diagonal, renormalised; where
// the column has no mass off the diagonal, or is NaN, it is uniform over the other classes. With a single class there
// is no other, and the row is zero.
func FlipDistribution(transition [][]float64) [][]float64 {
	c := len(transition)
	flip := newMatrix(c)
	for j, row := range flip {
		var mass float64
		for i := range c {
			if i != j {
				mass += transition[i][j]
			}
		}
		for i := range c {
			switch {
			case i == j:
			case mass > 0 && !math.IsInf(mass, 0):
				row[i] = transition[i][j] / mass
			default: // also where mass is NaN
				row[i] = 1 / float64(c-1)
			}
		}
	}
	return flip
}

// uniformFlips is FlipDistribution of a transition matrix that says nothing.
func uniformFlips(classes int) [][]float64 {
	return FlipDistribution(newMatrix(classes))
}

// noise is what the fitting set says of how labels go wrong.
type noise struct {
	givenCounts  []float64   // fitting nodes by given label [c]
	thresholds   []float64   // ClassThresholds [c]
	joint        [][]float64 // ConfidentJoint
	distribution [][]float64 // JointDistribution
	transition   [][]float64 // TransitionMatrix
}

// newNoise completes the noise of a confident joint.
func newNoise(givenCounts, thresholds []float64, joint [][]float64) noise {
	distribution := JointDistribution(joint, givenCounts)
	return noise{
		givenCounts:  givenCounts,
		thresholds:   thresholds,
		joint:        joint,
		distribution: distribution,
		transition:   TransitionMatrix(distribution),
	}
}
