package labelmodel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/kv"
)

// near says whether got is want to a tolerance.
func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }

// randomModel has features of c classes [c×width] too.
func randomModel(r *rand.Rand, c, width int) (m *Model, z []float32) {
	m = &Model{Classes: c, Rate: r.Float64() / 2, Prior: 0.1 + r.Float64()}
	for range width {
		m.Weights = append(m.Weights, r.NormFloat64())
	}
	for k := range c {
		for i := range c {
			if i != k && r.IntN(2) == 0 {
				m.Background = append(m.Background, classmatrix.Cell{Row: k, Column: i, Value: r.Float64()})
				m.Flips = append(m.Flips, classmatrix.Cell{Row: k, Column: i, Value: 3 * r.Float64()})
			}
		}
	}
	for range c * width {
		z = append(z, r.Float32())
	}
	return m, z
}

// TestScoreIsThePosterior computes it from the formulas of Model.
func TestScoreIsThePosterior(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 0))
	for range 300 {
		c, width := 2+r.IntN(5), 3
		m, z := randomModel(r, c, width)
		top := 0
		for k := range c {
			if z[k*width] > z[top*width] {
				top = k
			}
		}
		background, counts := classmatrix.Dense(c), classmatrix.Dense(c)
		for i, cell := range m.Background {
			background[cell.Row][cell.Column] = cell.Value
			counts[m.Flips[i].Row][m.Flips[i].Column] = m.Flips[i].Value
		}
		chance := make([]float64, c)
		for k := range c {
			for f := range width {
				x := math.Log(1e-3 + math.Max(0, float64(z[k*width+f])-background[top][k]*float64(z[top*width+f])))
				chance[k] += m.Weights[f] * x
			}
			chance[k] = math.Exp(chance[k])
		}
		for y := range c {
			var wrong float64
			classes, rows := []kv.Class{kv.Class(y)}, slices.Clone(z[y*width:(y+1)*width])
			for k := range c {
				if k == y {
					continue
				}
				mass := m.Prior
				for i := range c {
					mass += counts[k][i]
				}
				flip := 0.25/float64(c-1) + 0.75*(counts[k][y]+m.Prior/float64(c-1))/mass
				wrong += m.Rate * flip * chance[k]
				classes, rows = append(classes, kv.Class(k)), append(rows, z[k*width:(k+1)*width]...)
			}
			want := wrong / (wrong + (1-m.Rate)*chance[y])
			got := m.Scorer().Score(classes, rows, nil, false, make([]float64, c+len(rows)))
			if !near(got, want, 1e-9) {
				t.Fatalf("label %d of %d classes: got %v, want %v", y, c, got, want)
			}
		}
	}
}

func TestScoreOfBadFeatures(t *testing.T) {
	m, z := randomModel(rand.New(rand.NewPCG(3, 0)), 3, 3)
	z[4] = float32(math.NaN())
	if got := m.Scorer().Score([]kv.Class{0, 1, 2}, z, nil, false, make([]float64, 3+len(z))); !math.IsNaN(got) {
		t.Errorf("a feature that is no number: got score %v, want NaN", got)
	}
}

func TestReach(t *testing.T) {
	for _, c := range []struct {
		weights []float64
		want    int
	}{
		{[]float64{1, 0, 0, 0, 0.1, 0.2, 0.3}, 3},
		{[]float64{1, 0, 0, 0, 0.1, 0.2, 0}, 2},
		{[]float64{1, 0, 0, 0, 0.1, 0, 0.3}, 3},
		{[]float64{1, 0, 0, 0, 0.1, 0, 0}, 1},
		{[]float64{1, 0, 0, 0, 0, 0, 0}, 1},
		{[]float64{1, 0, 0.5}, 1},
	} {
		if got := (&Model{Weights: c.weights}).Reach(); got != c.want {
			t.Errorf("weights %v: got %d, want %d", c.weights, got, c.want)
		}
	}
}
