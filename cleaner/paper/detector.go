package paper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
)

// A detector gives the chance that a label is wrong, from the agreement features of its node: a network with one output
// under a sigmoid, on standardized features.
type detector struct {
	mean, scale []float64 // a feature z enters the network as (z−mean)·scale
	network     *nn.Network
}

// streamDetector is the second word of the PCG seed: the parts of a run that share a seed draw independent numbers.
const streamDetector uint64 = 0x64657463 // "detc"

// How a detector is trained.
const (
	hiddenUnits  = 16   // units of the one hidden layer
	batchRows    = 128  // rows a step
	learningRate = 0.01 // falls to zero along a cosine
	decay        = 1    // keeps the scores of a small fitting set, which holds real mislabels too, from saturating
	epochs       = 20   // through the fitting set,
	leastSteps   = 500  // but at least so many steps
	mostSteps    = 5000 // and at most so many

	// mostRows is how many rows a detector looks at: of more it would not look at all once in the most steps.
	mostRows = mostSteps * batchRows
)

// fittingRows holds the rows that a detector is fitted on.
type fittingRows struct {
	z       []float32 // row-major [rows×width]
	width   int
	columns []int    // those that the detector sees, ascending
	order   []uint32 // the rows to begin with; fit changes it
	planted func(row uint32) bool
}

// row copies the columns of a row that the detector sees to x.
func (s *fittingRows) row(r uint32, x []float32) []float32 {
	all := s.z[int(r)*s.width:][:s.width]
	for i, f := range s.columns {
		x[i] = all[f]
	}
	return x[:len(s.columns)]
}

// fit trains a detector to tell the rows whose label was planted, by the L1 loss
//
//	mean over rows of |sigmoid(network(z)) − planted|
//
// Rows with a NaN or an infinity are left out. The seed fixes the weights at the start and the order of the batches.
// ErrFewFittingNodes is returned where there is nothing to tell apart: no row that is planted, or none that is not.
func (s *fittingRows) fit(ctx context.Context, seed uint64) (*detector, error) {
	width := len(s.columns)
	one := make([]float32, width)
	rows, wrong := s.order[:0], 0
	for _, r := range s.order {
		if !slices.ContainsFunc(s.row(r, one), isNotFinite) {
			rows = append(rows, r)
			if s.planted(r) {
				wrong++
			}
		}
	}
	if wrong == 0 || wrong == len(rows) {
		return nil, fmt.Errorf("%d of %d fitting nodes have a planted label, want some with and some without: %w",
			wrong, len(rows), method.ErrFewFittingNodes)
	}
	random := rand.New(rand.NewPCG(seed, streamDetector))
	d := &detector{network: nn.New(random, width, hiddenUnits, 1)}
	s.standardize(d, rows)
	t := nn.NewTrainer(d.network, random)
	t.Decay = decay
	batch := min(batchRows, len(rows))
	x, right := make([]float32, batch*width), make([]bool, batch)
	steps := min(max(epochs*len(rows)/batch, leastSteps), mostSteps)
	next := len(rows)
	for step := range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
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
			right[i] = s.planted(r)
		}
		t.Step(x, batch, func(outputs []float32) float64 { return nn.L1Loss(outputs, right) })
	}
	return d, nil
}

// standardize measures the features of some rows; one that never varies is only centred.
func (s *fittingRows) standardize(d *detector, rows []uint32) {
	width := len(s.columns)
	one := make([]float32, width)
	d.mean, d.scale = make([]float64, width), make([]float64, width)
	for _, r := range rows {
		for f, value := range s.row(r, one) {
			d.mean[f] += float64(value)
		}
	}
	for f := range d.mean {
		d.mean[f] /= float64(len(rows))
	}
	for _, r := range rows {
		for f, value := range s.row(r, one) {
			deviation := float64(value) - d.mean[f]
			d.scale[f] += float64(deviation * deviation)
		}
	}
	for f, squares := range d.scale {
		d.scale[f] = 1
		if deviation := math.Sqrt(squares / float64(len(rows))); deviation > 1e-7 {
			d.scale[f] = 1 / deviation
		}
	}
}

// farthest bounds a standardized feature: beyond it the fitting set has nothing to say.
const farthest = 10

// input standardizes a row of features into x.
func (d *detector) input(z, x []float32) {
	for f, value := range z {
		x[f] = float32(min(max((float64(value)-d.mean[f])*d.scale[f], -farthest), farthest))
	}
}

// score appends the score of every row of z, row-major with the width of the fit, which it overwrites: in [0,1], NaN
// for a row with a NaN or an infinity.
func (d *detector) score(layers *nn.Activations, z []float32, scores []float64) []float64 {
	width, first := len(d.mean), len(scores)
	rows := len(z) / width
	for r := range rows {
		row, start := z[r*width:][:width], 0.0
		if slices.ContainsFunc(row, isNotFinite) {
			start = math.NaN()
		}
		scores = append(scores, start)
		d.input(row, row)
	}
	for r, output := range layers.Outputs(d.network, z, rows) {
		scores[first+r] += elementary.Sigmoid(float64(output))
	}
	return scores
}

// isNotFinite says whether a value is NaN or infinite.
func isNotFinite(value float32) bool { return value-value != 0 }
