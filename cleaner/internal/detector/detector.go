// Package detector trains a small network to tell planted labels from others by their agreement features, as
// GraphCleaner does (arXiv:2306.00015), and scores labels by it. It knows features alone.
package detector

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/float32s"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
)

// A Detector gives the chance that a label is wrong, from the agreement features of its node: a Network with one output
// under a sigmoid, on standardized features. Its fields are exported so that a store can keep it; they are read only.
type Detector struct {
	Mean, Scale []float64 // a feature z enters the network as (z−Mean)·Scale
	Network     nn.Network
}

// stream is the second word of the PCG seed: the parts of a run that share a seed draw independent numbers.
const stream uint64 = 0x64657463 // "detc"

// How a detector is trained.
const (
	hiddenUnits  = 16   // units of the one hidden layer
	batchRows    = 128  // rows a step
	learningRate = 0.01 // falls to zero along a cosine
	decay        = 1    // keeps the scores of a small fitting set, which holds real mislabels too, from saturating
	epochs       = 20   // through the fitting set,
	leastSteps   = 500  // but at least so many steps
	mostSteps    = 5000 // and at most so many
)

// ErrFewFittingNodes is returned where the rows are too few to fit a detector on.
var ErrFewFittingNodes = errors.New("cleaner: too few fitting nodes")

// Rows are what a detector is fitted on.
type Rows struct {
	Z       []float32 // row-major [rows×Width]
	Width   int
	Columns []int    // those that the detector sees, ascending
	Order   []uint32 // the rows to begin with; Fit changes it
	Planted func(row uint32) bool
}

// row copies what the detector sees of a row to x.
func (s *Rows) row(r uint32, x []float32) []float32 {
	all := s.Z[int(r)*s.Width:][:s.Width]
	for i, f := range s.Columns {
		x[i] = all[f]
	}
	return x[:len(s.Columns)]
}

// Fit trains a Detector to tell the rows whose label was planted, by the L1 loss
//
//	mean over rows of |sigmoid(network(z)) − planted|
//
// Rows with a NaN or an infinity are left out. The seed fixes the weights at the start and the order of the batches.
// ErrFewFittingNodes is returned where there is nothing to tell apart: no row that is planted, or none that is not.
func (s *Rows) Fit(ctx context.Context, seed uint64) (Detector, error) {
	width := len(s.Columns)
	one := make([]float32, width)
	rows, wrong := s.Order[:0], 0
	for _, r := range s.Order {
		if float32s.AllFinite(s.row(r, one)) {
			rows = append(rows, r)
			if s.Planted(r) {
				wrong++
			}
		}
	}
	if wrong == 0 || wrong == len(rows) {
		return Detector{}, fmt.Errorf("%d of %d fitting nodes have a planted label, want some with and some without: %w",
			wrong, len(rows), ErrFewFittingNodes)
	}
	d := Detector{}
	s.standardize(&d, rows)

	random := rand.New(rand.NewPCG(seed, stream))
	net := nn.New(random, width, hiddenUnits, 1)
	t := nn.NewTrainer(net, random)
	t.Decay = decay
	batch := min(batchRows, len(rows))
	x, right := make([]float32, batch*width), make([]bool, batch)
	steps := Steps(len(rows))
	next := len(rows)
	for step := range steps {
		if err := ctx.Err(); err != nil {
			return Detector{}, err
		}
		t.Rate = learningRate * (1 + elementary.Cos(math.Pi*float64(step)/float64(steps))) / 2
		for i := range batch {
			if next == len(rows) {
				random.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
				next = 0
			}
			r := rows[next]
			next++
			d.input(s.row(r, one), x[i*width:])
			right[i] = s.Planted(r)
		}
		rows := nn.Dense(x, batch, width)
		t.Step(&rows, func(outputs []float32) float64 { return nn.L1Loss(outputs, right) })
	}
	d.Network = *net
	return d, nil
}

// MostRows is how many rows a detector looks at: of more it would not look at all once in the most steps that it takes.
const MostRows = mostSteps * batchRows

// Steps is how many steps a detector is trained on so many rows, each of batchRows of them where there are
// as many.
func Steps(rows int) int {
	batch := max(min(batchRows, rows), 1)
	return min(max(epochs*rows/batch, leastSteps), mostSteps)
}

// standardize measures the features of some rows; one that never varies is only centred.
func (s *Rows) standardize(d *Detector, rows []uint32) {
	width := len(s.Columns)
	one := make([]float32, width)
	sums, squares := make([]float64, width), make([]float64, width)
	for _, r := range rows {
		for f, value := range s.row(r, one) {
			sums[f] += float64(value)
		}
	}
	d.Mean, d.Scale = make([]float64, width), make([]float64, width)
	for f, sum := range sums {
		d.Mean[f] = sum / float64(len(rows))
	}
	for _, r := range rows {
		for f, value := range s.row(r, one) {
			deviation := float64(value) - d.Mean[f]
			squares[f] += float64(deviation * deviation)
		}
	}
	for f, square := range squares {
		d.Scale[f] = 1
		if deviation := math.Sqrt(square / float64(len(rows))); deviation > 1e-7 {
			d.Scale[f] = 1 / deviation
		}
	}
}

// farthest bounds a standardized feature: beyond it the fitting set has nothing to say.
const farthest = 10

// input standardizes a row of features into x.
func (d *Detector) input(z, x []float32) {
	for f, value := range z {
		x[f] = float32(min(max((float64(value)-d.Mean[f])*d.Scale[f], -farthest), farthest))
	}
}

// Score writes the score of every row of z, row-major [rows×width] with the width of the fit, to dst [rows]: in [0,1],
// NaN for a row with a NaN or an infinity. Safe for concurrent use.
func (d *Detector) Score(z []float32, width int, dst []float64) { new(Scorer).Score(d, z, width, dst) }

// A Scorer keeps the memory of Detector.Score from call to call; one goroutine.
type Scorer struct {
	inputs []float32
	layers nn.Activations
}

// Score is Detector.Score.
func (s *Scorer) Score(d *Detector, z []float32, width int, dst []float64) {
	rows := len(z) / width
	s.inputs = slices.Grow(s.inputs[:0], len(z))[:len(z)]
	for r := range rows {
		d.input(z[r*width:(r+1)*width], s.inputs[r*width:])
	}
	outputs := s.layers.Outputs(&d.Network, nn.Dense(s.inputs, rows, width))
	for r := range rows {
		dst[r] = elementary.Sigmoid(float64(outputs[r]))
		if !float32s.AllFinite(z[r*width : (r+1)*width]) {
			dst[r] = math.NaN()
		}
	}
}
