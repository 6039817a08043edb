package confident

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/internal/testing/golden"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Six nodes, three classes; nobody is given class 2.
//
//	node  given   P[0]  P[1]  P[2]
//	a     0       0.75  0.25  0
//	b     0       0.25  0.75  0
//	c     0       0.5   0.25  0.25
//	d     1       0.25  0.5   0.25
//	e     1       0.5   0.5   0
//	f     none    0     1     0
//
// Thresholds: t_0 = (0.75 + 0.25 + 0.5)/3 = 0.5, t_1 = (0.5 + 0.5)/2 = 0.5, t_2 has no node.
//
// Confident classes: a → 0. b → 1. c → 0, just. d → 1, just. e reaches both thresholds with the same 0.5, and its
// given class 1 takes it. f is unlabelled and not counted. So
//
//	C = 2 1 0      rows normalised, times the given counts 3 and 2:   2 1 0     divided by 5:   0.4 0.2 0
//	    0 2 0                                                         0 2 0                     0   0.4 0
//	    0 0 0                                                         0 0 0                     0   0   0
//
// Transition, column by column: all 0.4; 0.2/0.6 and 0.4/0.6; the column of class 2 has no mass.
// Without its diagonal column 0 has no mass either, so that class 0 flips to any other, column 1 is all class 0, and
// class 2 flips to either.
func TestNoiseByHand(t *testing.T) {
	p := []float32{
		0.75, 0.25, 0,
		0.25, 0.75, 0,
		0.5, 0.25, 0.25,
		0.25, 0.5, 0.25,
		0.5, 0.5, 0,
		0, 1, 0,
	}
	given := []kv.Class{0, 0, 0, 1, 1, kv.NoClass}
	nan := golden.Number(math.NaN())

	thresholds := classThresholds(p, given, 3)
	wantNumbers(t, "class thresholds", thresholds, []golden.Number{0.5, 0.5, nan}, 0)
	joint := confidentJoint(p, given, thresholds)
	wantMatrix(t, "confident joint", denseMatrix(joint), [][]golden.Number{{2, 1, 0}, {0, 2, 0}, {0, 0, 0}}, 0)
	distribution := JointDistribution(joint, []float64{3, 2, 0})
	wantMatrix(t, "joint", denseMatrix(distribution), [][]golden.Number{{0.4, 0.2, 0}, {0, 0.4, 0}, {0, 0, 0}}, 1e-15)
	transition := distribution.ByColumn()
	wantMatrix(t, "transition", denseMatrix(transition), [][]golden.Number{{1, 1. / 3, nan}, {0, 2. / 3, nan}, {0, 0, nan}}, 1e-15)
	wantMatrix(t, "flip", Flips(transition), [][]golden.Number{{0, 0.5, 0.5}, {1, 0, 0}, {0.5, 0.5, 0}}, 1e-15)
	if got := MislabelRate(distribution); math.Abs(got-0.2) > 1e-15 {
		t.Errorf("mislabel rate: got %v, want 0.2", got)
	}
}

func TestNoiseOfNothing(t *testing.T) {
	nan := golden.Number(math.NaN())
	thresholds := classThresholds([]float32{}, nil, 2)
	wantNumbers(t, "class thresholds of no nodes", thresholds, []golden.Number{nan, nan}, 0)
	joint := confidentJoint([]float32{}, nil, thresholds)
	distribution := JointDistribution(joint, []float64{0, 0})
	wantMatrix(t, "joint of no nodes", denseMatrix(distribution), [][]golden.Number{{0, 0}, {0, 0}}, 0)
	transition := distribution.ByColumn()
	wantMatrix(t, "transition of no nodes", denseMatrix(transition), [][]golden.Number{{nan, nan}, {nan, nan}}, 0)
	wantMatrix(t, "flip of no nodes", Flips(transition), [][]golden.Number{{0, 1}, {1, 0}}, 0)
	wantMatrix(t, "flip of one class", Flips(sparseMatrix([][]float64{{1}})), [][]golden.Number{{0}}, 0)
}

// A node that predicts its class exactly as often as the class does on average must reach the threshold, however
// many nodes the average runs over: the sums are exact.
func TestThresholdIsReachedByEquals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for rows := 1; rows < 2000; rows += 37 {
		x := r.Float32()
		p, given := make([]float32, 2*rows), make([]kv.Class, rows)
		for i := range rows {
			p[2*i], p[2*i+1] = x, 1-x
		}
		joint := confidentJoint(p, given, classThresholds(p, given, 2))
		if joint.At(0, 0) != float64(rows) {
			t.Fatalf("%d rows that all predict %v: got %v at their class's threshold, want all", rows, x, joint.At(0, 0))
		}
	}
}

// The flip distribution is a distribution without a diagonal whatever the transition matrix is.
func TestFlipsAreDistributions(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		c := 2 + r.IntN(6)
		counts, joint := make([]float64, c), classmatrix.Dense(c)
		for i := range c {
			counts[i] = float64(r.IntN(4))
			for j := range c {
				if r.IntN(2) == 0 {
					joint[i][j] = float64(r.IntN(5))
				}
			}
		}
		for j, row := range Flips(JointDistribution(sparseMatrix(joint), counts).ByColumn()) {
			var sum float64
			for _, w := range row {
				sum += w
			}
			if math.Abs(sum-1) > 1e-12 || row[j] != 0 {
				t.Fatalf("seed %d, class %d: got %v, want a distribution over the other classes", seed, j, row)
			}
		}
	}
}

// TestJointOfEqualPredictions: the given label is the confident one of equals, and without it none is.
func TestJointOfEqualPredictions(t *testing.T) {
	p := []float32{.4, .4, .2, .4, .4, .2, .4, .4, .2, .1, .2, .7}
	joint := confidentJoint(p, []kv.Class{0, 1, 2, 2}, []float64{.3, .3, .3})
	wantMatrix(t, "joint", denseMatrix(joint), [][]golden.Number{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, 0)
}
