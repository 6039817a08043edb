package nn

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// plainOutputs is the output of a network, from its definition in float64. scale, where not nil, multiplies the hidden
// layers.
func plainOutputs(weights, biases [][]float64, widths []int, x []float32, rows int, scale [][]float32) []float64 {
	h := make([]float64, len(x))
	for i, value := range x {
		h[i] = float64(value)
	}
	for l := range weights {
		in, out := widths[l], widths[l+1]
		next := make([]float64, rows*out)
		for r := range rows {
			for j := range out {
				sum := biases[l][j]
				for i := range in {
					sum += h[r*in+i] * weights[l][i*out+j]
				}
				if l < len(weights)-1 {
					sum = max(sum, 0)
					if scale != nil {
						sum *= float64(scale[l][r*out+j])
					}
				}
				next[r*out+j] = sum
			}
		}
		h = next
	}
	return h
}

func widened(parameters [][]float32) [][]float64 {
	var w [][]float64
	for _, p := range parameters {
		row := make([]float64, len(p))
		for i, value := range p {
			row[i] = float64(value)
		}
		w = append(w, row)
	}
	return w
}

func normals(r *rand.Rand, n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(r.NormFloat64())
	}
	return values
}

// TestGradientsAreFiniteDifferences compares every partial derivative with that of the definition in float64.
func TestGradientsAreFiniteDifferences(t *testing.T) {
	const rows = 9
	r := rand.New(rand.NewPCG(1, 0))
	right, wrong := make([]int, rows), make([]bool, rows)
	for i := range rows {
		right[i], wrong[i] = r.IntN(3), r.IntN(2) == 0
	}
	crossEntropy := func(outputs []float64) (loss float64) {
		for i, y := range right {
			var sum float64
			for _, logit := range outputs[3*i : 3*i+3] {
				sum += math.Exp(logit)
			}
			loss += (math.Log(sum) - outputs[3*i+y]) / rows
		}
		return loss
	}
	absolute := func(outputs []float64) (loss float64) {
		for i, w := range wrong {
			want := 0.0
			if w {
				want = 1
			}
			loss += math.Abs(1/(1+math.Exp(-outputs[i]))-want) / rows
		}
		return loss
	}
	for _, c := range []struct {
		name    string
		widths  []int
		dropout float64
		loss    func([]float32) float64
		plain   func([]float64) float64
	}{
		{"softmax regression", []int{4, 3}, 0, func(o []float32) float64 { return SoftmaxLoss(o, right) }, crossEntropy},
		{"cross-entropy", []int{4, 6, 3}, 0, func(o []float32) float64 { return SoftmaxLoss(o, right) }, crossEntropy},
		{"cross-entropy with dropout", []int{5, 8, 7, 3}, 0.4, func(o []float32) float64 { return SoftmaxLoss(o, right) },
			crossEntropy},
		{"L1", []int{4, 6, 5, 1}, 0, func(o []float32) float64 { return L1Loss(o, wrong) }, absolute},
		{"no inputs", []int{0, 4, 3}, 0, func(o []float32) float64 { return SoftmaxLoss(o, right) }, crossEntropy},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := NewTrainer(New(r, c.widths...), r)
			tr.Dropout, tr.InputDropout = c.dropout, c.dropout // rate is 0, so that a step only measures
			for _, b := range tr.net.Biases {
				copy(b, normals(r, len(b)))
			}
			x := normals(r, rows*c.widths[0])
			got := tr.Step(x, rows, c.loss)
			scale := tr.scale
			if c.dropout == 0 {
				scale = nil
			}
			weights, biases := widened(tr.net.Weights), widened(tr.net.Biases)
			value := func() float64 { return c.plain(plainOutputs(weights, biases, c.widths, x, rows, scale)) }
			if want := value(); math.Abs(got-want) > 1e-5 {
				t.Errorf("loss: got %v, want %v", got, want)
			}
			for kind, parameters := range [2][][]float64{weights, biases} {
				for l, p := range parameters {
					for i, at := range p {
						const step = 1e-5
						p[i] = at + step
						above := value()
						p[i] = at - step
						below := value()
						p[i] = at
						want, got := (above-below)/(2*step), float64(tr.gradient[kind][l][i])
						if math.Abs(got-want) > 1e-5+1e-4*math.Abs(want) {
							t.Errorf("%s of layer %d, number %d: got gradient %v, want %v", [2]string{"weights", "biases"}[kind], l,
								i, got, want)
						}
					}
				}
			}
		})
	}
}

func sameNetwork(t *testing.T, what string, got, want *Network) {
	t.Helper()
	if !slices.Equal(got.Widths, want.Widths) {
		t.Fatalf("%s: got widths %v, want %v", what, got.Widths, want.Widths)
	}
	for l := range want.Weights {
		if !slices.Equal(got.Weights[l], want.Weights[l]) || !slices.Equal(got.Biases[l], want.Biases[l]) {
			t.Errorf("%s: layer %d differs", what, l)
		}
	}
}

// TestTrainingIsTheSameBits: with any width, batch, dropout and number of workers.
func TestTrainingIsTheSameBits(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 0))
		rows, width, units, classes := 1+r.IntN(80), 1+r.IntN(60), 1+r.IntN(140), 2+r.IntN(70)
		if seed < 3 {
			rows, width, units = 300, 700, 64 // for more than one worker
		}
		x, right := normals(r, rows*width), make([]int, rows)
		for i := range right {
			right[i] = r.IntN(classes)
		}
		train := func(workers int) (*Network, []float32) {
			random := rand.New(rand.NewPCG(seed, 1))
			tr := NewTrainer(New(random, width, units, classes), random)
			tr.Rate, tr.Decay, tr.Workers = 0.01, 0.01, workers
			tr.Dropout, tr.InputDropout = float64(seed%2)/2, float64(seed%3)/4
			for range 4 {
				tr.Step(slices.Clone(x), rows, func(o []float32) float64 { return SoftmaxLoss(o, right) })
			}
			return tr.net, new(Activations).Outputs(tr.net, x[:rows/2*width], rows/2)
		}
		want, outputs := train(1)
		for _, workers := range []int{0, 2, 3} {
			net, got := train(workers)
			sameNetwork(t, "trained", net, want)
			if !slices.Equal(got, outputs) {
				t.Fatalf("seed %d, %d workers: got outputs %v, want %v", seed, workers, got, outputs)
			}
		}
	}
}

func TestSoftmaxLoss(t *testing.T) {
	for _, c := range []struct {
		name   string
		logits []float32
		right  []int
		loss   float64
		slopes []float32
	}{
		{"uniform", []float32{5, 5, 5, 5}, []int{2}, math.Log(4), []float32{.25, .25, -.75, .25}},
		{"two rows", []float32{0, 0, 0, 0}, []int{0, 1}, math.Ln2, []float32{-.25, .25, .25, -.25}},
		{"huge, right", []float32{3e38, -3e38}, []int{0}, 0, []float32{0, 0}},
		{"one class", []float32{-8}, []int{0}, 0, []float32{0}},
		{"no rows", nil, nil, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := SoftmaxLoss(c.logits, c.right); math.Abs(got-c.loss) > 1e-6 {
				t.Errorf("loss: got %v, want %v", got, c.loss)
			}
			for i, want := range c.slopes {
				if math.Abs(float64(c.logits[i]-want)) > 1e-6 {
					t.Errorf("gradient: got %v, want %v", c.logits, c.slopes)
					break
				}
			}
		})
	}
	wrong := []float32{3e38, -3e38}
	if got := SoftmaxLoss(wrong, []int{1}); math.IsInf(got, 0) || math.IsNaN(got) || got < 80 {
		t.Errorf("loss of what is thought impossible: got %v, want it large and finite", got)
	}
}
