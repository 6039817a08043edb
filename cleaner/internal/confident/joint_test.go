package confident

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/golden"
	"github.com/graphcleaner/graphcleaner/kv"
)

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

// TestJointOfEqualPredictions: the given label is the confident one of equals, and without it none is.
func TestJointOfEqualPredictions(t *testing.T) {
	p := []float32{.4, .4, .2, .4, .4, .2, .4, .4, .2, .1, .2, .7}
	joint := confidentJoint(p, []kv.Class{0, 1, 2, 2}, []float64{.3, .3, .3})
	wantMatrix(t, "joint", denseMatrix(joint), [][]golden.Number{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, 0)
}
