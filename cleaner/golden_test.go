package cleaner

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

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

// golden is one graph of testdata/golden with every quantity computed densely in float64 from its definition.
type golden struct {
	Name            string
	N               int
	Classes         int
	Hops            int
	Edges           [][2]kv.NodeID
	Labels          []kv.Class
	Predictions     [][]float64
	Diagonals       [][]float64
	LabelsK         [][][]float64 `json:"labels_k"`
	PredictionsK    [][][]float64 `json:"predictions_k"`
	Agreement       [][]float64
	TestedLabels    []kv.Class  `json:"tested_labels"`
	AgreementTested [][]float64 `json:"agreement_tested"`
	ClassThresholds []number    `json:"class_thresholds"`
	ConfidentJoint  [][]number  `json:"confident_joint"`
	Joint           [][]number
	Transition      [][]number
	FlipFrom        [][]number `json:"flip_from"`
	Scores          []float64
	Thresholds      []struct {
		P, Alpha    float64
		FPR         number `json:"fpr"`
		FNRModified number `json:"fnr_modified"`
	}
}

// eachGolden runs check on every golden file.
func eachGolden(t *testing.T, check func(t *testing.T, g golden)) {
	t.Helper()
	files, err := filepath.Glob("testdata/golden/*.json")
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
		t.Run(g.Name, func(t *testing.T) { check(t, g) })
	}
}

// predictions64 and predictions32 are the golden predictions row-major.
func (g golden) predictions64() []float64 {
	var p []float64
	for _, row := range g.Predictions {
		p = append(p, row...)
	}
	return p
}

func (g golden) predictions32() []float32 {
	var p []float32
	for _, x := range g.predictions64() {
		p = append(p, float32(x))
	}
	return p
}

// near says whether got is want to a tolerance; NaN equals NaN.
func near(got, want, tolerance float64) bool {
	if math.IsNaN(want) || math.IsInf(want, 0) {
		return math.IsNaN(got) && math.IsNaN(want) || got == want
	}
	return math.Abs(got-want) <= tolerance
}

func TestGoldenConformal(t *testing.T) {
	eachGolden(t, func(t *testing.T, g golden) {
		for _, want := range g.Thresholds {
			if got, _ := FalsePositiveThreshold(g.Scores, want.P, want.Alpha); !near(got, float64(want.FPR), 1e-9) {
				t.Errorf("false positives, p = %v, alpha = %v: got λ = %v, want %v", want.P, want.Alpha, got, want.FPR)
			}
			if got, _ := FalseNegativeThreshold(g.Scores, want.P, want.Alpha); !near(got, float64(want.FNRModified), 1e-9) {
				t.Errorf("false negatives, p = %v, alpha = %v: got λ = %v, want %v", want.P, want.Alpha, got, want.FNRModified)
			}
		}
	})
}
