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

func TestTilesArePlainTiles(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		of := []tile{wide, narrow}[seed%2]
		tiles, k, stride, apart := r.IntN(6), r.IntN(70), of.columns+r.IntN(9), 0
		rows := tiles * of.rows
		if r.IntN(2) == 0 {
			apart = of.columns + r.IntN(9)
		}
		a := matrixView{normals(r, rows*(k+1)), 1, rows}
		if r.IntN(2) == 0 {
			a.row, a.column = k+1, 1
		}
		panel, start := normals(r, k*of.columns), normals(r, (rows+1)*(of.columns+apart))
		want := normals(r, rows*stride)
		got := slices.Clone(want)
		multiplyPlainly(of, tiles, want, stride, a, k, panel, start, apart)
		multiplyTiles(of, tiles, got, stride, a, k, panel, start, apart)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d, %d tiles %v, k %d: got %v, want %v", seed, tiles, of, k, got, want)
		}
	}
}

func TestPiecesAreCopied(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for pieces := range 9 {
		stride := pieceNumbers + r.IntN(20)
		from := normals(r, pieces*stride+pieceNumbers)
		got := normals(r, pieces*pieceNumbers+3)
		want := slices.Clone(got)
		copyPlainly(want, from, stride, pieces)
		copyPieces(got, from, stride, pieces)
		if !slices.Equal(got, want) {
			t.Fatalf("%d pieces, %d apart: got %v, want %v", pieces, stride, got, want)
		}
	}
}

// TestTransposedProductsLeaveOutNothing: those of right factors that are mostly zeros are the same bits, of any size.
func TestTransposedProductsLeaveOutNothing(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 4))
		m, k, n := stripColumns+r.IntN(200), r.IntN(3*blockRows), 1+r.IntN(70)
		if seed < 3 {
			m, k, n = 700, 256, 64 // for more than one worker
		}
		a := normals(r, m*k)
		b, _ := sparseRows(r, k, n, []float64{0, 0.1, 0.4, 0.9}[seed%4])
		want := make([]float32, m*n)
		new(multiplier).multiply(m, k, n, rowsOf(a, m).transpose(), rowsOf(b.dense, n), nil, want)
		for workers := range 4 {
			p, got := multiplier{workers: workers}, normals(r, m*n)
			p.multiplyTransposed(m, k, n, a, b.dense, got)
			if !slices.EqualFunc(got, want, sameBits) {
				t.Fatalf("seed %d, %d×%d×%d, %d workers: got %v, want %v", seed, m, k, n, workers, got, want)
			}
		}
	}
}

func BenchmarkProduct(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 0))
	for _, size := range [][3]int{{256, 767, 64}, {767, 256, 64}, {25, 256, 64}, {256, 64, 8}, {64, 256, 8}} {
		m, k, n := size[0], size[1], size[2]
		left := rowsOf(normals(r, m*k), k)
		if k == 256 {
			left = rowsOf(left.data, m).transpose()
		}
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d×%d×%d/workers=%d", m, k, n, workers), func(b *testing.B) {
				right, c, p := rowsOf(normals(r, k*n), n), make([]float32, m*n), multiplier{workers: workers}
				for b.Loop() {
					p.multiply(m, k, n, left, right, nil, c)
				}
				b.ReportMetric(2*float64(m*k*n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
