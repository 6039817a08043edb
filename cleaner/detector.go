package cleaner

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
)

// A Detector gives the chance that a label is wrong, from the agreement features of its node: a Network with one output
// under a sigmoid, on standardized features. Its fields are exported so that a store can keep it; they are read only.
type Detector struct {
	Mean, Scale []float64 // a feature z enters the network as (z−Mean)·Scale
	Network     nn.Network
}

// DetectorOptions tunes FitDetector.
type DetectorOptions struct {
	// Seed fixes the weights at the start and the order of the batches.
	Seed uint64
}

// How a detector is trained.
const (
	detectorHidden = 16   // units of the one hidden layer
	detectorBatch  = 128  // rows a step
	detectorRate   = 0.01 // falls to zero along a cosine
	detectorDecay  = 1    // keeps the scores of a small fitting set, which holds real mislabels too, from saturating
	detectorEpochs = 20   // through the fitting set,
	detectorLeast  = 500  // but at least so many steps
	detectorMost   = 5000 // and at most so many
)

// FitDetector trains a Detector on agreement features z, row-major [rows×width], to tell the rows whose label was
// planted, by the L1 loss
//
//	mean over rows of |sigmoid(network(z)) − planted|
//
// as the paper does (arXiv:2306.00015). Rows with a NaN or an infinity are left out. ErrShape is returned where z has
// not a row for each of planted, ErrFewFittingNodes where there is nothing to tell apart: no row that is planted, or
// none that is not.
func FitDetector(ctx context.Context, z []float32, width int, planted []bool, opt DetectorOptions) (Detector, error) {
	if width < 1 || len(z) != len(planted)*width {
		return Detector{}, fmt.Errorf("agreement features: got %d values, want %d rows of %d: %w",
			len(z), len(planted), width, ErrShape)
	}
	rows := fittingRows{z: z, width: width, planted: func(row uint32) bool { return planted[row] }}
	for r := range planted {
		rows.order = append(rows.order, uint32(r))
	}
	for f := range width {
		rows.columns = append(rows.columns, f)
	}
	return rows.fit(ctx, opt)
}

// fittingRows is what a detector is fitted on.
type fittingRows struct {
	z       []float32 // row-major [rows×width]
	width   int
	columns []int    // those that the detector sees, ascending
	order   []uint32 // the rows to begin with; fit changes it
	planted func(row uint32) bool
}

// row copies what the detector sees of a row to x.
func (s *fittingRows) row(r uint32, x []float32) []float32 {
	all := s.z[int(r)*s.width:][:s.width]
	for i, f := range s.columns {
		x[i] = all[f]
	}
	return x[:len(s.columns)]
}

// fit is FitDetector.
func (s *fittingRows) fit(ctx context.Context, opt DetectorOptions) (Detector, error) {
	width := len(s.columns)
	one := make([]float32, width)
	rows, wrong := s.order[:0], 0
	for _, r := range s.order {
		if allFinite(s.row(r, one)) {
			rows = append(rows, r)
			if s.planted(r) {
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

	random := rand.New(rand.NewPCG(opt.Seed, streamDetector))
	net := nn.New(random, width, detectorHidden, 1)
	t := nn.NewTrainer(net, random)
	t.Decay = detectorDecay
	batch := min(detectorBatch, len(rows))
	x, right := make([]float32, batch*width), make([]bool, batch)
	steps := detectorSteps(len(rows))
	next := len(rows)
	for step := range steps {
		if err := ctx.Err(); err != nil {
			return Detector{}, err
		}
		t.Rate = detectorRate * (1 + elementary.Cos(math.Pi*float64(step)/float64(steps))) / 2
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
	d.Network = *net
	return d, nil
}

// detectorSteps is how many steps a detector is trained on so many rows, each of detectorBatch of them where there are
// as many.
func detectorSteps(rows int) int {
	batch := max(min(detectorBatch, rows), 1)
	return min(max(detectorEpochs*rows/batch, detectorLeast), detectorMost)
}

// standardize measures the features of some rows; one that never varies is only centred.
func (s *fittingRows) standardize(d *Detector, rows []uint32) {
	width := len(s.columns)
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
func (d *Detector) Score(z []float32, width int, dst []float64) { new(scorer).score(d, z, width, dst) }

// A scorer keeps the memory of Detector.Score from call to call; one goroutine.
type scorer struct {
	inputs []float32
	layers nn.Activations
}

func (s *scorer) score(d *Detector, z []float32, width int, dst []float64) {
	rows := len(z) / width
	s.inputs = resize(s.inputs, len(z))
	for r := range rows {
		d.input(z[r*width:(r+1)*width], s.inputs[r*width:])
	}
	outputs := s.layers.Outputs(&d.Network, s.inputs, rows)
	for r := range rows {
		dst[r] = elementary.Sigmoid(float64(outputs[r]))
		if !allFinite(z[r*width : (r+1)*width]) {
			dst[r] = math.NaN()
		}
	}
}

func allFinite(row []float32) bool {
	for _, value := range row {
		if value-value != 0 { // NaN and the infinities
			return false
		}
	}
	return true
}
