// Package golden reads the graphs of cleaner/testdata/golden for tests: each has every quantity, computed densely in
// float64 from its definition. It computes none itself.
package golden

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A Number is a float64 of a file: null is NaN, "Infinity" +Inf.
type Number float64

// UnmarshalJSON reads a Number.
func (x *Number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "null":
		*x = Number(math.NaN())
		return nil
	case `"Infinity"`:
		*x = Number(math.Inf(1))
		return nil
	}
	return json.Unmarshal(text, (*float64)(x))
}

// A Graph is one graph with all that is known of it.
type Graph struct {
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
	TestedAgreement [][]float64 `json:"agreement_tested"`
	ClassThresholds []Number    `json:"class_thresholds"`
	ConfidentJoint  [][]Number  `json:"confident_joint"`
	Joint           [][]Number
	Transition      [][]Number
	FlipFrom        [][]Number `json:"flip_from"`
	Scores          []float64
	Thresholds      []struct {
		P, Alpha    float64
		FPR         Number `json:"fpr"`
		ModifiedFNR Number `json:"fnr_modified"`
	}
}

// Each runs check on the graph of every file. The tests of a package run in its directory, from which dir leads to the
// files.
func Each(t *testing.T, dir string, check func(t *testing.T, g Graph)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: got %d files, %v, want some", dir, len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var g Graph
		if err := json.Unmarshal(text, &g); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		t.Run(g.Name, func(t *testing.T) { check(t, g) })
	}
}

// Predictions64 returns the predictions row-major.
func (g Graph) Predictions64() []float64 {
	var p []float64
	for _, row := range g.Predictions {
		p = append(p, row...)
	}
	return p
}

// Predictions32 returns the predictions row-major.
func (g Graph) Predictions32() []float32 {
	var p []float32
	for _, x := range g.Predictions64() {
		p = append(p, float32(x))
	}
	return p
}

// Near reports whether got is want to a tolerance; NaN equals NaN.
func Near(got, want, tolerance float64) bool {
	if math.IsNaN(want) || math.IsInf(want, 0) {
		return math.IsNaN(got) && math.IsNaN(want) || got == want
	}
	return math.Abs(got-want) <= tolerance
}
