package nn

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestProductsAreSumsInOrder compares products of awkward sizes, of plain and transposed factors, with their
// definition.
func TestProductsAreSumsInOrder(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		m, k, n := r.IntN(20), r.IntN(20), r.IntN(40)
		switch {
		case seed < 3:
			m, k, n = 150, 90, 70 // for more than one worker
		case seed < 20:
			k += 2*mostDepth - 10 // that is not multiplied in one go
		}
		matrix := func(rows, columns int) matrixView {
			values := normals(r, rows*columns)
			if r.IntN(2) == 0 {
				return matrixView{values, 1, rows} // column-major
			}
			return rowsOf(values, columns)
		}
		a, b := matrix(m, k), matrix(k, n)
		var start []float32
		if r.IntN(2) == 0 {
			start = normals(r, n)
		}
		want := make([]float32, m*n)
		for i := range m {
			for j := range n {
				var sum float32
				if start != nil {
					sum = start[j]
				}
				for l := range k {
					sum += float32(a.data[i*a.row+l*a.column] * b.data[l*b.row+j*b.column])
				}
				want[i*n+j] = sum
			}
		}
		for workers := range 4 {
			p, got := multiplier{workers: workers}, normals(r, m*n)
			p.multiply(m, k, n, a, b, start, got)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, %d×%d×%d, %d workers: got %v, want %v", seed, m, k, n, workers, got, want)
			}
		}
	}
}
