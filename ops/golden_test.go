package ops

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A golden file holds a small graph and what follows from it, computed densely in float64 from the definitions.
type golden struct {
	Nodes        int           `json:"n"`
	Classes      int           `json:"classes"`
	Hops         int           `json:"hops"`
	Edges        [][2]int      `json:"edges"`
	Labels       []kv.Class    `json:"labels"`
	Predictions  [][]float64   `json:"predictions"`
	Diagonals    [][]float64   `json:"diagonals"`
	PredictionsK [][][]float64 `json:"predictions_k"`
	LabelsK      [][][]float64 `json:"labels_k"`
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("golden files: got %d, %v, want some", len(files), err)
	}
	ctx := context.Background()
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text := must.Get(os.ReadFile(file))(t)
			var want golden
			must.Do(t, json.Unmarshal(text, &want))
			g := newListGraph(want.Nodes, want.Edges)
			d := must.Get(ComputeDiagonals(ctx, g, Powers{Hops: want.Hops}, Options{}))(t)
			for k := 1; k <= want.Hops; k++ {
				for v, x := range d.At(k) {
					if y := want.Diagonals[k-1][v]; !(math.Abs(x-y) <= 1e-12) {
						t.Errorf("diagonal of hop %d, node %d: got %v, want %v", k, v, x, y)
					}
				}
			}
			var predictions []float32
			for _, row := range want.Predictions {
				for _, x := range row {
					predictions = append(predictions, float32(x))
				}
			}
			op := Operator{Hops: want.Hops, Diagonals: d}
			for name, c := range map[string]struct {
				source Source
				want   [][][]float64
			}{
				"labels":      {OneHot(want.Labels, want.Classes), want.LabelsK},
				"predictions": {Dense(predictions, want.Classes), want.PredictionsK},
			} {
				got, err := collect(ctx, g, c.source, op, Options{})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for k := range got {
					for i, x := range got[k] {
						v, j := i/want.Classes, i%want.Classes
						if y := c.want[k][v][j]; !(math.Abs(float64(x)-y) <= 1e-6) {
							t.Errorf("%s of hop %d, node %d, class %d: got %v, want %v", name, k+1, v, j, x, y)
						}
					}
				}
			}
		})
	}
}
