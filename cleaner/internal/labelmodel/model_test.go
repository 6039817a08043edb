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
	m = &Model{Classes: c, Scale: Scale{Shift: r.NormFloat64()}}
	if r.IntN(2) == 0 {
		m.Bend = 0.5 * r.NormFloat64()
	}
	for range width {
		m.Weights = append(m.Weights, r.NormFloat64())
	}
	for k := range c {
		m.Intercepts, m.Right = append(m.Intercepts, r.NormFloat64()), append(m.Right, 20*r.Float64())
		for i := range c {
			if i != k && r.IntN(2) == 0 {
				m.Flips = append(m.Flips, classmatrix.Cell{Row: k, Column: i, Value: 3 * r.Float64()})
			}
		}
	}
	for range c * width {
		z = append(z, r.Float32())
	}
	return m, z
}

func sum(numbers []float64) (all float64) {
	for _, x := range numbers {
		all += x
	}
	return all
}

// TestScoreIsThePosterior computes it from the formulas of Model.
func TestScoreIsThePosterior(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 0))
	for range 300 {
		c, width := 2+r.IntN(5), 3
		m, z := randomModel(r, c, width)
		counts := classmatrix.Dense(c)
		for _, cell := range m.Flips {
			counts[cell.Row][cell.Column] = cell.Value
		}
		chance := make([]float64, c)
		for k := range c {
			for f := range width {
				chance[k] += m.Weights[f] * math.Log(1e-3+float64(z[k*width+f]))
			}
			chance[k] = math.Exp(chance[k] + m.Intercepts[k])
		}
		for y := range c {
			var wrong, best float64
			likeliest := 0
			classes, rows := []kv.Class{kv.Class(y)}, slices.Clone(z[y*width:(y+1)*width])
			for k := range c {
				if k == y {
					continue
				}
				rate := (counts[k][y] + 2/float64(c-1)) / (30 + m.Right[k] + sum(counts[k]))
				one := rate * chance[k]
				if wrong += one; one > best {
					best, likeliest = one, k
				}
				classes, rows = append(classes, kv.Class(k)), append(rows, z[k*width:(k+1)*width]...)
			}
			right := (m.Right[y] + 28) / (30 + m.Right[y] + sum(counts[y])) * chance[y]
			score := 1 / (1 + math.Exp(-m.Shift-math.Exp(m.Bend)*math.Log(wrong/right)))
			best *= score / wrong
			got := m.Scorer().Judge(classes, rows, false, make([]float64, c+len(rows)))
			if !near(got.Score, score, 1e-9) || !near(got.Chance, best, 1e-9) || int(classes[got.Rival]) != likeliest {
				t.Fatalf("label %d of %d classes: got %+v, want %v, rival %d with %v", y, c, got, score, likeliest, best)
			}
		}
	}
}

func TestScoreOfBadFeatures(t *testing.T) {
	m, z := randomModel(rand.New(rand.NewPCG(3, 0)), 3, 3)
	z[4] = float32(math.NaN())
	if got := m.Scorer().Judge([]kv.Class{0, 1, 2}, z, false, make([]float64, 3+len(z))).Score; !math.IsNaN(got) {
		t.Errorf("a feature that is no number: got score %v, want NaN", got)
	}
}

func TestReach(t *testing.T) {
	for _, c := range []struct {
		weights []float64
		want    int
	}{
		{[]float64{1, 0.1, 0.2, 0.3}, 3},
		{[]float64{1, 0.1, 0.2, 0}, 2},
		{[]float64{1, 0.1, 0, 0.3}, 3},
		{[]float64{1, 0.1, 0, 0}, 1},
		{[]float64{1, 0, 0, 0}, 1},
		{[]float64{1, 0.5}, 1},
	} {
		if got := (&Model{Weights: c.weights}).Reach(); got != c.want {
			t.Errorf("weights %v: got %d, want %d", c.weights, got, c.want)
		}
	}
}
