package cleaner

import (
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/golden"
)

// goldenFiles leads to the golden files.
const goldenFiles = "testdata/golden"

func TestGoldenConformal(t *testing.T) {
	golden.Each(t, goldenFiles, func(t *testing.T, g golden.Graph) {
		for _, want := range g.Thresholds {
			if got, _ := FalsePositiveThreshold(g.Scores, want.P, want.Alpha); !golden.Near(got, float64(want.FPR), 1e-9) {
				t.Errorf("false positives, p = %v, alpha = %v: got λ = %v, want %v", want.P, want.Alpha, got, want.FPR)
			}
			if got, _ := FalseNegativeThreshold(g.Scores, want.P, want.Alpha); !golden.Near(got, float64(want.ModifiedFNR), 1e-9) {
				t.Errorf("false negatives, p = %v, alpha = %v: got λ = %v, want %v", want.P, want.Alpha, got, want.ModifiedFNR)
			}
		}
	})
}
