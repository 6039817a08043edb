package labelmodel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// randomSweep is a fit with random x, some rows without a label, and chances of its rows, some of them tiny.
func randomSweep(t testing.TB, r *rand.Rand, rows, classes, width int) (*labelFit, sweepScratch) {
	f := &labelFit{classes: classes, width: width, stride: strideOf(width)}
	f.x = &scratch.Array[float32]{Data: make([]float32, rows*classes*f.stride)}
	of := newSweepScratch(rows, classes, width)
	for i := range rows {
		f.labels = append(f.labels, kv.Class(r.IntN(classes+1)-1))
		for k := range classes {
			for j := range width {
				f.x.Data[(i*classes+k)*f.stride+j] = float32(r.NormFloat64())
			}
			of.chance[i*classes+k] = math.Pow(10, -12*r.Float64())
			of.excess[i*classes+k] = r.NormFloat64()
		}
	}
	if kv.NoClass != -1 {
		t.Fatalf("no class is %d, want -1: no row would go without a label", kv.NoClass)
	}
	return f, of
}

// TestSumsOfVectors holds the sums of kernels to the bits of the plain ones.
func TestSumsOfVectors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for width := 1; width <= lanes+2; width++ {
		for _, classes := range []int{1, 2, 3, 4, 5, 7, 8, 13} {
			f, of := randomSweep(t, r, 9, classes, width)
			weights := make([]float64, width)
			for j := range weights {
				weights[j] = r.Float64() * float64(r.IntN(3))
			}
			got, want := make([]float64, f.sumWidth()-1), make([]float64, f.sumWidth()-1)
			f.addRows(0, 9, of, got)
			f.addRowsPlainly(0, 9, of, want)
			sameBits(t, "sums", width, classes, got, want)

			got, want = make([]float64, len(of.chance)), make([]float64, len(of.chance))
			weigh(got, f.x.Data, weights, f.stride)
			weighPlainly(want, f.x.Data, weights, f.stride)
			sameBits(t, "utilities", width, classes, got, want)
		}
	}
}

func sameBits(t *testing.T, what string, width, classes int, got, want []float64) {
	t.Helper()
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			t.Fatalf("%s of %d features and %d classes: number %d is %v, want %v", what, width, classes, i, got[i], want[i])
		}
	}
}

func BenchmarkSweep(b *testing.B) {
	const rows, classes, width = sweepRows, 8, 5
	f, of := randomSweep(b, rand.New(rand.NewPCG(1, 2)), rows, classes, width)
	for r, y := range f.labels {
		f.labels[r] = max(y, 0)
	}
	f.posterior = &scratch.Array[float32]{Data: make([]float32, rows*classes)}
	s, sums := f.start(), make([]float64, f.sumWidth())
	s.rate = .1
	for b.Loop() {
		f.sweepBlock(s, 0, rows, of, sums)
	}
	b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
}
