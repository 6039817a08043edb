package labelmodel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// normals are so many float32 numbers.
func normals(r *rand.Rand, count int) []float32 {
	x := make([]float32, count)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// TestVectors holds the kernels to the bits of the plain functions.
func TestVectors(t *testing.T) {
	const rows, kinds = 5, 3
	r := rand.New(rand.NewPCG(1, 2))
	for width := 1; width <= 10; width++ {
		for _, classes := range []int{1, 2, 3, 4, 5, 7, 8, 13} {
			cells := rows * classes * lanes
			x, weights := normals(r, cells*width), make([]float64, 0, width*lanes)
			for range width {
				weights = append(weights, slices.Repeat([]float64{r.Float64() * float64(r.IntN(3))}, lanes)...)
			}
			got, want := make([]float64, cells), make([]float64, cells)
			weigh(got, x, weights, classes, width)
			weighPlainly(want, x, weights, classes, width)
			sameBits(t, "utilities", width, classes, got, want)

			of, noise, kindOf := newSweepScratch(classes, width), make([]float64, kinds*classes), make([]int32, rows*lanes)
			of.chance, of.excess, of.likelihood = make([]float64, cells), make([]float64, cells), make([]float64, rows*lanes)
			for i := range of.chance { // some are not counted, some rows not at all
				of.chance[i] = math.Pow(10, -12*float64(r.IntN(2))*r.Float64())
			}
			for i := range noise { // of the last kind nothing is likely
				noise[i] = r.Float64() * float64(max(0, 2*classes-i))
			}
			for i := range kindOf {
				kindOf[i] = r.Int32N(kinds)
			}
			plain := of
			plain.chance, plain.excess, plain.likelihood = slices.Clone(of.chance), make([]float64, cells), make([]float64, rows*lanes)
			q, wantQ := make([]float32, cells), make([]float32, cells)
			judge(of.chance, of.excess, q, of.likelihood, noise, kindOf, classes)
			judgePlainly(plain.chance, plain.excess, wantQ, plain.likelihood, noise, kindOf, classes)
			sameBits(t, "chances", width, classes, of.chance, plain.chance)
			sameBits(t, "excesses", width, classes, of.excess, plain.excess)
			sameBits(t, "likelihoods", width, classes, of.likelihood, plain.likelihood)
			if !slices.Equal(q, wantQ) {
				t.Fatalf("posteriors of %d classes: got %v, want %v", classes, q, wantQ)
			}

			got, want = make([]float64, (width+width*(width+1)/2)*lanes), make([]float64, (width+width*(width+1)/2)*lanes)
			for range 2 { // the second time to what is there
				addLines(got, x, of, classes, width)
				addLinesPlainly(want, x, of, classes, width)
				sameBits(t, "sums", width, classes, got, want)
			}
		}
	}
}

// TestCountFlips holds the kernels of counts to the bits of the plain function, with rows that have no label.
func TestCountFlips(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, rows := range []int{1, 255, 256, 257, 2047, 2048, 2049, 5000} {
		for _, classes := range []int{2, 4, 5, 8, 11} {
			f := &labelFit{classes: classes, width: 1}
			for range rows {
				f.labels = append(f.labels, kv.Class(r.IntN(classes+1)-1))
			}
			f.posterior = &scratch.Array[float32]{Data: normals(r, linesOf(rows)*lanes*classes)}
			got, want, memory := f.start().counts, f.start().counts, newSweepScratch(classes, 1).rows
			for first := 0; first < classes; first += countedClasses {
				f.countFlips(got, first, min(first+countedClasses, classes), memory)
				f.countFlipsPlainly(want, first, min(first+countedClasses, classes))
			}
			sameBits(t, "counts", rows, classes, got.values, want.values)
		}
	}
}

func sameBits(t *testing.T, what string, size, classes int, got, want []float64) {
	t.Helper()
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			t.Fatalf("%s of %d features or rows and %d classes: number %d is %v, want %v", what, size, classes, i, got[i], want[i])
		}
	}
}

// TestPlacesOfRows: every row has a place of its own among those that its team takes.
func TestPlacesOfRows(t *testing.T) {
	for _, rows := range []int{0, 1, 255, 256, 257, 1000, 1024, 1025, 1300, 5000} {
		taken := make([]bool, linesOf(rows)*lanes)
		for r := range rows {
			line, lane := placeOf(r)
			if back := rowAt(line, lane); back != r {
				t.Fatalf("row %d lies at line %d, lane %d, where row %d is", r, line, lane, back)
			}
			if taken[line*lanes+lane] {
				t.Fatalf("row %d of %d: line %d, lane %d is taken", r, rows, line, lane)
			}
			taken[line*lanes+lane] = true
		}
	}
}
