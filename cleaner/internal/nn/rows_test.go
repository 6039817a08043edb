package nn

import (
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
