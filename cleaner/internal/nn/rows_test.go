package nn

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sparseRows are random rows, of which a share of the numbers is not zero, dense and sparse.
func sparseRows(r *rand.Rand, count, width int, share float64) (dense, sparse Rows) {
	values, counts, total := normals(r, count*width), make([]int, count), 0
	for i := range values {
		if r.Float64() >= share {
			values[i] = 0
		}
	}
	for i := range counts {
		counts[i] = CountNonzero(values[i*width:][:width])
		total += counts[i]
	}
	sparse = Sparse(width, counts, make([]uint32, total), make([]float32, total))
	for i := range counts {
		sparse.Fill(i, values[i*width:][:width])
	}
	return Dense(values, count, width), sparse
}

// TestTrainingIsTheSameBits: of dense and of sparse rows, with any width, batch, dropout and number of workers.
func TestTrainingIsTheSameBits(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 0))
		count, width, units, classes := 1+r.IntN(40), 1+r.IntN(60), 1+r.IntN(140), 2+r.IntN(70)
		if seed < 3 {
			count, width, units = 300, 700, 64 // for more than one worker
		}
		dense, sparse := sparseRows(r, count, width, []float64{0, 0.05, 0.3, 0.5}[seed%4])
		train := func(x *Rows, workers int) (*Network, []float32) {
			random := rand.New(rand.NewPCG(seed, 1))
			tr := NewTrainer(New(random, width, units, classes), random)
			tr.Rate, tr.Decay, tr.Workers = 0.01, 0.01, workers
			tr.Dropout, tr.InputDropout = float64(seed%2)/2, float64(seed%3)/4
			var batch Rows
			for range 4 {
				rows, right := make([]uint32, 1+random.IntN(2*count)), []int(nil)
				for i := range rows {
					rows[i] = uint32(random.IntN(count))
					right = append(right, random.IntN(classes))
				}
				batch.Gather(x, rows, workers)
				tr.Step(&batch, func(o []float32) float64 { return SoftmaxLoss(o, right) })
			}
			return tr.net, new(Activations).Outputs(tr.net, x.Slice(count/2, count))
		}
		want, outputs := train(&dense, 1)
		for workers := range 4 {
			for name, x := range map[string]*Rows{"dense": &dense, "sparse": &sparse} {
				net, got := train(x, workers)
				sameNetwork(t, name+" rows", net, want)
				if !slices.Equal(got, outputs) {
					t.Fatalf("seed %d, %s rows, %d workers: got outputs %v, want %v", seed, name, workers, got, outputs)
				}
			}
		}
	}
}

// sameBits says so of two numbers, and of any two that are none.
func sameBits(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// oddNumbers are so many, of which some are zero, infinite, none at all, or as small or large as they can be.
func oddNumbers(r *rand.Rand, n int) []float32 {
	inf := float32(math.Inf(1))
	odd := []float32{0, float32(math.Copysign(0, -1)), inf, -inf, float32(math.NaN()), 1e-45, -1e-45, 3e38}
	values := normals(r, n)
	for i := range values {
		if r.IntN(4) == 0 {
			values[i] = odd[r.IntN(len(odd))]
		}
	}
	return values
}

// TestSparseKernelsAreThePlainOnes: those of whole strips, of half a strip, and of what is left.
func TestSparseKernelsAreThePlainOnes(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		n, width, count := 31+r.IntN(99), 1+r.IntN(30), 1+r.IntN(6)
		counts, total := make([]int, count), 0
		for i := range counts { // some rows have nothing
			counts[i] = r.IntN(width+1) * r.IntN(2)
			total += counts[i]
		}
		x := Sparse(width, counts, make([]uint32, total), oddNumbers(r, total))
		for i := range counts {
			columns, _ := x.row(i)
			for j, column := range r.Perm(width)[:len(columns)] {
				columns[j] = uint32(column)
			}
			slices.Sort(columns)
		}
		b, start := oddNumbers(r, width*n), oddNumbers(r, n)
		got, want := normals(r, count*n), make([]float32, 0, count*n)
		for i := range count {
			columns, values := x.row(i)
			want = append(want, start...)
			addRowsPlainly(want[i*n:], columns, values, b, n)
		}
		new(multiplier).multiplySparse(&x, n, b, start, got)
		if !slices.EqualFunc(got, want, sameBits) {
			t.Fatalf("seed %d, %d rows of %d columns: got products %v, want %v", seed, count, n, got, want)
		}
		got = oddNumbers(r, width*n)
		want = slices.Clone(got)
		for i := range count {
			columns, values := x.row(i)
			first := r.IntN(n) // of the columns
			row := oddNumbers(r, r.IntN(n-first+1))
			addToRows(got[first:], columns, values, row, n)
			addToRowsPlainly(want[first:], columns, values, row, n)
			if !slices.EqualFunc(got, want, sameBits) {
				t.Fatalf("seed %d, columns %d to %d of %d: got sums %v, want %v", seed, first, first+len(row), n, got, want)
			}
		}
	}
}
