package ops

import (
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/golden"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestGolden compares diagonals and propagated rows with the golden files, which hold them in float64.
func TestGolden(t *testing.T) {
	golden.Each(t, "../cleaner/testdata/golden", func(t *testing.T, want golden.Graph) {
		var edges [][2]int
		for _, e := range want.Edges {
			edges = append(edges, [2]int{int(e[0]), int(e[1])})
		}
		g := newListGraph(want.N, edges)
		d := must.Get(ComputeDiagonals(t.Context(), g, Powers{Hops: want.Hops}, Options{}))(t)
		for k := 1; k <= want.Hops; k++ {
			for v, x := range d.At(k) {
				if y := want.Diagonals[k-1][v]; !golden.Near(x, y, 1e-12) {
					t.Errorf("diagonal of hop %d, node %d: got %v, want %v", k, v, x, y)
				}
			}
		}
		for name, c := range map[string]struct {
			source Source
			want   [][][]float64
		}{
			"labels":      {OneHot(want.Labels, want.Classes), want.LabelsK},
			"predictions": {Dense(want.Predictions32(), want.Classes), want.PredictionsK},
		} {
			got := must.Get(collect(t.Context(), g, c.source, Operator{Hops: want.Hops, Diagonals: d}, Options{}))(t)
			for k := range got {
				for i, x := range got[k] {
					v, j := i/want.Classes, i%want.Classes
					if y := c.want[k][v][j]; !golden.Near(float64(x), y, 1e-6) {
						t.Errorf("%s of hop %d, node %d, class %d: got %v, want %v", name, k+1, v, j, x, y)
					}
				}
			}
		}
	})
}
