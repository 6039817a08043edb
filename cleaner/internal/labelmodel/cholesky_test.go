package labelmodel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
)

func TestSolveByCholesky(t *testing.T) {
	for n := range 9 {
		r := rand.New(rand.NewPCG(uint64(n), 0))
		half, a := classmatrix.Dense(n), classmatrix.Dense(n)
		for i := range n {
			for j := range n {
				half[i][j] = r.Float64() - 0.5
			}
		}
		x, b := make([]float64, n), make([]float64, n)
		for i := range n {
			x[i] = r.Float64() - 0.5
		}
		for i := range n {
			a[i][i] = 0.1
			for j := range n {
				for l := range n {
					a[i][j] += half[i][l] * half[j][l]
				}
				b[i] += a[i][j] * x[j]
			}
		}
		if !solveByCholesky(a, b) {
			t.Fatalf("%d unknowns: got no factors", n)
		}
		for i := range n {
			if !(math.Abs(b[i]-x[i]) < 1e-12) {
				t.Errorf("%d unknowns: got x[%d] = %v, want %v", n, i, b[i], x[i])
			}
		}
	}
	for _, a := range [][][]float64{{{0}}, {{-1}}, {{math.NaN()}}, {{1, 1}, {1, 1}}, {{1, 2}, {2, 1}}} {
		if solveByCholesky(a, make([]float64, len(a))) {
			t.Errorf("%v: got factors, want none", a)
		}
	}
}
