// Package nn trains and applies small fully connected networks, to the same bits on every processor and with any number
// of goroutines. It knows numbers alone: no graph, no store, no files.
package nn

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
)

// A Network is a fully connected network with ReLU between its layers:
//
//	h_0 = x, h_{l+1} = relu(h_l W_l + b_l), the last layer without the relu
//
// All matrices are row-major float32. Its fields are exported so that a store can keep it; they are read only.
type Network struct {
	Widths  []int       // of the input, the hidden layers and the output
	Weights [][]float32 // W_l [Widths[l]×Widths[l+1]]
	Biases  [][]float32 // b_l [Widths[l+1]]
}

// New makes a network of these widths. It draws the weights uniformly from ±√(6/(in+out)) (Glorot and Bengio 2010); the
// biases are zero.
func New(random *rand.Rand, widths ...int) *Network {
	net := &Network{Widths: widths}
	for l := range len(widths) - 1 {
		in, out := widths[l], widths[l+1]
		weights := make([]float32, in*out)
		limit := math.Sqrt(6 / float64(in+out))
		for i := range weights {
			weights[i] = float32(limit * (2*float64(random.Float64()) - 1))
		}
		net.Weights = append(net.Weights, weights)
		net.Biases = append(net.Biases, make([]float32, out))
	}
	return net
}

// weights is W_l.
func (net *Network) weights(l int) matrixView { return rowsOf(net.Weights[l], net.Widths[l+1]) }

// Activations hold the outputs of the layers for one batch, in memory that the next batch uses again. The zero value is
// ready for use by one goroutine.
type Activations struct {
	Workers int         // goroutines that share a product; 0 means one
	layers  [][]float32 // layers[l] [rows×Widths[l+1]]
	product multiplier
}

// Outputs applies a network to the batch x [rows×Widths[0]]. The outputs [rows×Widths[last]] are valid until the next
// call.
func (a *Activations) Outputs(net *Network, x []float32, rows int) []float32 {
	return a.forward(net, x, rows, nil)
}

// forward computes the outputs of a batch. drop, if not nil, is called on every hidden layer.
func (a *Activations) forward(net *Network, x []float32, rows int, drop func(layer int, h []float32)) []float32 {
	a.product.workers = a.Workers
	last := len(net.Weights) - 1
	if a.layers == nil {
		a.layers = make([][]float32, last+1)
	}
	below := x
	for l := range net.Weights {
		in, out := net.Widths[l], net.Widths[l+1]
		a.layers[l] = slices.Grow(a.layers[l][:0], rows*out)[:rows*out]
		h := a.layers[l]
		a.product.multiply(rows, in, out, rowsOf(below, in), net.weights(l), net.Biases[l], h)
		if l < last {
			relu(h)
			if drop != nil {
				drop(l, h)
			}
		}
		below = h
	}
	return below
}

// A Trainer fits a network by Adam (Kingma and Ba, arXiv:1412.6980) with decoupled weight decay (arXiv:1711.05101). All
// its memory is taken at the first batch. The bits depend on the seed and the batches alone, not on the number of
// workers.
type Trainer struct {
	Rate         float64 // of learning
	Decay        float64 // of weights, a step, relative to Rate
	Dropout      float64 // share of the hidden activations that are set to zero in training
	InputDropout float64 // the same of the inputs
	Workers      int     // goroutines that share the work of a step; 0 means one

	net    *Network
	random *rand.Rand

	steps    int
	forward  Activations
	scale    [][]float32 // the factor of dropout for each hidden activation
	errors   [][]float32 // loss gradients of the layers' outputs
	gradient [2][][]float32
	mean     [2][][]float32 // Adam's moments: [0] of weights, [1] of biases
	square   [2][][]float32
}

// NewTrainer makes a trainer that changes net in place. Its random numbers are those of dropout. The caller sets the
// exported fields, before the first step or between two.
func NewTrainer(net *Network, random *rand.Rand) *Trainer {
	t := &Trainer{
		net: net, random: random,
		scale: make([][]float32, len(net.Weights)), errors: make([][]float32, len(net.Weights)),
	}
	for kind, parameters := range [2][][]float32{net.Weights, net.Biases} {
		for _, p := range parameters {
			t.gradient[kind] = append(t.gradient[kind], make([]float32, len(p)))
			t.mean[kind] = append(t.mean[kind], make([]float32, len(p)))
			t.square[kind] = append(t.square[kind], make([]float32, len(p)))
		}
	}
	return t
}

// Step learns from the batch x [rows×Widths[0]], which dropout of inputs overwrites. loss turns the outputs
// [rows×Widths[last]] into the gradient of the batch's mean loss with respect to them, in place, and returns that loss.
func (t *Trainer) Step(x []float32, rows int, loss func(outputs []float32) float64) float64 {
	t.forward.Workers = t.Workers
	var drop func(int, []float32)
	if t.InputDropout > 0 {
		t.drop(x, nil, t.InputDropout)
	}
	if t.Dropout > 0 {
		drop = func(l int, h []float32) {
			t.scale[l] = slices.Grow(t.scale[l][:0], len(h))[:len(h)]
			t.drop(h, t.scale[l], t.Dropout)
		}
	}
	out := t.forward.forward(t.net, x, rows, drop)
	value := loss(out)
	t.backward(x, rows, out)
	t.update()
	return value
}

// drop zeroes a share of values, to 1/256, and scales the others so that the sum's expectation stays; factors, if not
// nil, gets the factor of each.
func (t *Trainer) drop(values, factors []float32, dropped float64) {
	bound := uint32(math.Round(dropped * 256))
	scale, seed := float32(256/float64(256-bound)), t.random.Uint64()
	share(t.Workers, len(values), (len(values)+dropRun-1)/dropRun, func(_, first, end int) {
		for run := first; run < end; run++ {
			from, to := run*dropRun, min((run+1)*dropRun, len(values))
			var by []float32
			if factors != nil {
				by = factors[from:to]
			}
			drop(values[from:to], by, seed, uint64(run), bound, scale)
		}
	})
}

// backward fills the gradients, given that of the outputs.
func (t *Trainer) backward(x []float32, rows int, outputs []float32) {
	up := outputs
	for l := len(t.net.Weights) - 1; l >= 0; l-- {
		in, out := t.net.Widths[l], t.net.Widths[l+1]
		below := x
		if l > 0 {
			below = t.forward.layers[l-1]
		}
		sums := t.gradient[1][l]
		clear(sums)
		sumColumns(sums, up[:rows*out])
		product := &t.forward.product
		product.multiply(in, rows, out, rowsOf(below, in).transpose(), rowsOf(up, out), nil, t.gradient[0][l])
		if l == 0 {
			return
		}
		t.errors[l-1] = slices.Grow(t.errors[l-1][:0], rows*in)[:rows*in]
		down := t.errors[l-1]
		product.multiply(rows, out, in, rowsOf(up, out), t.net.weights(l).transpose(), nil, down)
		var scale []float32
		if t.Dropout > 0 {
			scale = t.scale[l-1]
		}
		mask(down, scale, below)
		up = down
	}
}

// update takes Adam's step along the gradients.
func (t *Trainer) update() {
	const beta1, beta2, epsilon = 0.9, 0.999, 1e-8
	t.steps++
	rate := float32(t.Rate * math.Sqrt(1-elementary.Pow(beta2, t.steps)) / (1 - elementary.Pow(beta1, t.steps)))
	for kind, parameters := range [2][][]float32{t.net.Weights, t.net.Biases} {
		shrink := float32(1)
		if kind == 0 {
			shrink = float32(1 - float64(t.Rate*t.Decay))
		}
		for l, p := range parameters {
			mean, square, gradient := t.mean[kind][l], t.square[kind][l], t.gradient[kind][l]
			share(t.Workers, len(p), len(p), func(_, first, end int) {
				for i := first; i < end; i++ {
					g := gradient[i]
					mean[i] = float32(beta1*mean[i]) + float32((1-beta1)*g)
					square[i] = float32(beta2*square[i]) + float32(float32((1-beta2)*g)*g)
					p[i] = float32(p[i]*shrink) - rate*mean[i]/(float32(math.Sqrt(float64(square[i])))+epsilon)
				}
			})
		}
	}
}
