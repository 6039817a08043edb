package probability

import (
	"math"
	"testing"
)

func TestNormalizeRow(t *testing.T) {
	classes := []string{"a", "b", "Käse"}
	for _, c := range []struct {
		name    string
		row     []float64
		problem string // "" where the row is good
	}{
		{"exact", []float64{0.5, 0.25, 0.25}, ""},
		{"rounded up", []float64{0.334, 0.333, 0.3338}, ""},
		{"rounded down", []float64{0.333, 0.333, 0.3334}, ""},
		{"certain", []float64{0, 1, 0}, ""},
		{"not a number", []float64{0.5, math.NaN(), 0.5}, "class b has no number, want a probability from 0 to 1, or a row " +
			"without any number for a node without predictions"},
		{"infinite", []float64{math.Inf(1), 0, 0},
			"class a is +Inf, want a probability from 0 to 1, or a word that these are logits"},
		{"negative", []float64{0.6, 0.5, -0.1},
			"class Käse is -0.1, want a probability from 0 to 1, or a word that these are logits"},
		{"above 1", []float64{1.5, 0, 0}, "class a is 1.5, want a probability from 0 to 1, or a word that these are logits"},
		{"too little", []float64{0.3, 0.3, 0.3}, "they add up to 0.9, want 1"},
		{"zero", []float64{0, 0, 0}, "they add up to 0, want 1"},
	} {
		row := append([]float64(nil), c.row...)
		if got := normalizeRow(row, classes, sumTolerance); got != c.problem {
			t.Errorf("%s: got %q, want %q", c.name, got, c.problem)
			continue
		}
		if c.problem != "" {
			continue
		}
		if sum := row[0] + row[1] + row[2]; math.Abs(sum-1) > 1e-15 {
			t.Errorf("%s: got a sum of %v, want 1", c.name, sum)
		}
	}
}
