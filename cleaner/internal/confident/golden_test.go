package confident

import (
	"fmt"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/internal/testing/golden"
	"github.com/graphcleaner/graphcleaner/kv"
)

func wantNumbers(t *testing.T, what string, got []float64, want []golden.Number, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !golden.Near(got[i], float64(want[i]), tolerance) {
			t.Errorf("%s[%d]: got %v, want %v", what, i, got[i], want[i])
		}
	}
}

func wantMatrix(t *testing.T, what string, got [][]float64, want [][]golden.Number, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d rows, want %d", what, len(got), len(want))
	}
	for i := range want {
		wantNumbers(t, fmt.Sprintf("%s[%d]", what, i), got[i], want[i], tolerance)
	}
}

// classThresholds returns t_j, the mean predicted chance of j among the rows given label j [classes]. A class given to
// no row takes no part: its threshold is NaN.
//
// p holds the predictions of the fitting nodes, row-major [len(given)×classes]; a row given NoClass is left out.
func classThresholds[F float32 | float64](p []F, given []kv.Class, classes int) []float64 {
	t := NewThresholdSum(classes)
	for r, y := range given {
		if y != kv.NoClass {
			t.Add(y, float64(p[r*classes+int(y)]))
		}
	}
	return t.Thresholds()
}

// confidentJoint returns the counts C[i][j] of rows with given label i whose class j has the largest prediction among
// the classes l with P[v][l] ≥ t_l; [c×c], c = len(thresholds). Where several have the largest, the row counts as
// rightly labelled if the given label is one of them, and is not counted otherwise. Nor is a row that reaches no
// threshold. The diagonal is counted too, as the appendix of arXiv:2306.00015 has it.
//
// p is as in classThresholds.
func confidentJoint[F float32 | float64](p []F, given []kv.Class, thresholds []float64) *classmatrix.Matrix {
	c := len(thresholds)
	counts := make(map[uint64]uint32)
	for r, y := range given {
		if y == kv.NoClass {
			continue
		}
		if j := Class(p[r*c:(r+1)*c], y, thresholds); j != kv.NoClass {
			counts[uint64(y)*uint64(c)+uint64(j)]++
		}
	}
	return classmatrix.OfCounts(c, counts)
}

func givenCounts(given []kv.Class, classes int) []float64 {
	counts := make([]float64, classes)
	for _, y := range given {
		if y != kv.NoClass {
			counts[y]++
		}
	}
	return counts
}

func TestGoldenNoise(t *testing.T) {
	golden.Each(t, "../../testdata/golden", func(t *testing.T, g golden.Graph) {
		t.Run("float64", func(t *testing.T) { checkGoldenNoise(t, g, g.Predictions64(), 1e-9) })
		t.Run("float32", func(t *testing.T) { checkGoldenNoise(t, g, g.Predictions32(), 1e-5) })
	})
}

func checkGoldenNoise[F float32 | float64](t *testing.T, g golden.Graph, p []F, tolerance float64) {
	thresholds := classThresholds(p, g.Labels, g.Classes)
	wantNumbers(t, "class thresholds", thresholds, g.ClassThresholds, tolerance)
	joint := confidentJoint(p, g.Labels, thresholds)
	wantMatrix(t, "confident joint", denseMatrix(joint), g.ConfidentJoint, 0)
	distribution := JointDistribution(joint, givenCounts(g.Labels, g.Classes))
	wantMatrix(t, "joint", denseMatrix(distribution), g.Joint, 1e-9)
	transition := distribution.ByColumn()
	wantMatrix(t, "transition", denseMatrix(transition), g.Transition, 1e-9)
	wantMatrix(t, "flip", Flips(transition), g.FlipFrom, 1e-9)
}
