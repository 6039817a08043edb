package nn

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestProductsAreSumsInOrder compares products of awkward sizes, of plain and transposed factors, with their definition.
func TestProductsAreSumsInOrder(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		m, k, n := r.IntN(20), r.IntN(20), r.IntN(40)
		if seed < 3 {
			m, k, n = 150, 90, 70 // for more than one worker
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

func TestTileIsThePlainTile(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		k, stride := r.IntN(70), tileColumns+r.IntN(9)
		a := matrixView{normals(r, tileRows*(k+1)), 1, tileRows}
		panel, start := normals(r, k*tileColumns), normals(r, tileColumns)
		want := normals(r, tileRows*stride)
		got := slices.Clone(want)
		multiplyTilePlainly(want, stride, a, k, panel, start)
		multiplyTile(got, stride, a, k, panel, start)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d, k %d: got %v, want %v", seed, k, got, want)
		}
	}
}

func BenchmarkProduct(b *testing.B) {
	const m, k, n = 256, 767, 64
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("%d×%d×%d/workers=%d", m, k, n, workers), func(b *testing.B) {
			b.ReportAllocs()
			r := rand.New(rand.NewPCG(1, 0))
			x, y, c := normals(r, m*k), normals(r, k*n), make([]float32, m*n)
			p := multiplier{workers: workers}
			for b.Loop() {
				p.multiply(m, k, n, rowsOf(x, k), rowsOf(y, n), nil, c)
			}
			b.ReportMetric(2*m*k*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
