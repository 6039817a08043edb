package confident

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A number is a float64 of a golden file: null is NaN, "Infinity" +Inf.
type number float64

func (x *number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "null":
		*x = number(math.NaN())
		return nil
	case `"Infinity"`:
		*x = number(math.Inf(1))
		return nil
	}
	return json.Unmarshal(text, (*float64)(x))
}

// golden is what a file of testdata/golden says of noise, computed densely in float64 from its definition.
type golden struct {
	Name            string
	Classes         int
	Labels          []kv.Class
	Predictions     [][]float64
	ClassThresholds []number   `json:"class_thresholds"`
	ConfidentJoint  [][]number `json:"confident_joint"`
	Joint           [][]number
	Transition      [][]number
	FlipFrom        [][]number `json:"flip_from"`
}

// near says whether got is want to a tolerance; NaN equals NaN.
func near(got, want, tolerance float64) bool {
	if math.IsNaN(want) || math.IsInf(want, 0) {
		return math.IsNaN(got) && math.IsNaN(want) || got == want
	}
	return math.Abs(got-want) <= tolerance
}

func wantNumbers(t *testing.T, what string, got []float64, want []number, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !near(got[i], float64(want[i]), tolerance) {
			t.Errorf("%s[%d]: got %v, want %v", what, i, got[i], want[i])
		}
	}
}

func wantMatrix(t *testing.T, what string, got [][]float64, want [][]number, tolerance float64) {
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
// the classes l with P[v][l] ≥ t_l; [c×c], c = len(thresholds). Where several have the largest, the row counts as rightly
// labelled if the given label is one of them, and is not counted otherwise. Nor is a row that reaches no threshold. The
// diagonal is counted too, as the appendix of arXiv:2306.00015 has it.
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
	return classmatrix.Counted(c, counts)
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
	files, err := filepath.Glob("../../testdata/golden/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata/golden: got %d files, %v, want some", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var g golden
		if err := json.Unmarshal(text, &g); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var wide []float64
		var narrow []float32
		for _, row := range g.Predictions {
			for _, p := range row {
				wide, narrow = append(wide, p), append(narrow, float32(p))
			}
		}
		t.Run(g.Name+"/float64", func(t *testing.T) { checkGoldenNoise(t, g, wide, 1e-9) })
		t.Run(g.Name+"/float32", func(t *testing.T) { checkGoldenNoise(t, g, narrow, 1e-5) })
	}
}

func checkGoldenNoise[F float32 | float64](t *testing.T, g golden, p []F, tolerance float64) {
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
