package labelmodel

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	lapack "gonum.org/v1/gonum/lapack/gonum"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A modelState is the parameters of a model during a fit.
type modelState struct {
	weights    []float64 // standardized
	intercepts []float64 // [c]

	// Of the labels: the expected counts of wrong ones, a line a given class and an entry a true one, and of right ones
	// [c], and the channel that follows. Where that is nil, all labels are taken for right, and intercepts stay zero.
	counts *lines
	right  []float64
	noise  *channel

	likelihood float64 // logarithm, of the last sweep
}

// start leaves all to the predictions, and has so many wrong labels go anywhere; 0 has all labels right.
func (f *labelFit) start(rate float64) *modelState {
	var labels []int
	for _, y := range f.labels {
		if y != kv.NoClass {
			labels = append(labels, int(y))
		}
	}
	s := &modelState{
		weights: make([]float64, f.width), intercepts: make([]float64, f.classes), right: make([]float64, f.classes),
		counts: newLines(f.classes, labels),
	}
	s.weights[0] = 1
	if rate > 0 {
		s.noise = evenChannel(s.counts.clone(), rate)
	}
	return s
}

// What a sweep sums up over rows: the log-likelihood, the gradient [width], the upper triangle of the curvature
// [width×(width+1)/2] of the weights, and by class the surplus of posteriors over chances.
func (f *labelFit) sumWidth() int { return f.weightSums() + f.classes }

func (f *labelFit) weightSums() int { return 1 + f.width + f.width*(f.width+1)/2 }

// sweep computes the posteriors of a state, and the sums.
func (f *labelFit) sweep(ctx context.Context, s *modelState) ([]float64, error) {
	partial := make([]float64, f.countBlocks()*f.sumWidth())
	err := f.blocks(ctx, func(worker, block, first, end int) {
		f.sweepRows(s, first, end, &f.scratch[worker], partial[block*f.sumWidth():][:f.sumWidth()])
	})
	return addParts(partial, f.sumWidth()), err
}

// maximize improves a state until a sweep changes the penalized log-likelihood by less than tolerance. settled is false
// where it still did after MostSweeps.
//
// A sweep that has lost much is a Newton step that went too far: the weights go half of the way back.
func (f *labelFit) maximize(ctx context.Context, s *modelState) (settled bool, err error) {
	last, halvings := math.Inf(-1), 0
	before := slices.Clone(s.weights)
	for sweep := range MostSweeps {
		sums, err := f.sweep(ctx, s)
		if err != nil {
			return false, err
		}
		if f.onSweep != nil {
			f.onSweep()
		}
		s.likelihood = sums[0]
		value := sums[0] + f.penalty(s)
		if value < last-mostLoss && halvings < mostHalvings {
			for i, weight := range s.weights {
				s.weights[i] = (weight + before[i]) / 2
			}
			halvings++
			continue
		}
		if sweep+1 >= leastSweeps && math.Abs(value-last) < tolerance {
			return true, nil
		}
		last, halvings = value, 0
		copy(before, s.weights)
		if err := f.stepWeights(s, sums); err != nil {
			return false, err
		}
		if s.noise != nil {
			f.countLabels(s)
			f.stepIntercepts(s, sums[f.weightSums():])
			s.noise = newChannel(s.counts.clone(), s.right, f.alike)
		}
	}
	return false, nil
}

// penalty is the logarithm of the priors of weights and intercepts, up to constants.
func (f *labelFit) penalty(s *modelState) (value float64) {
	for _, all := range [][]float64{s.weights, s.intercepts} {
		for _, weight := range all {
			value -= float64(weightPenalty * weight * weight / 2)
		}
	}
	return value
}

// stepWeights takes a Newton step to weights that are not negative, no weight further than 1: of the quadratic that the
// sums describe, the maximum over the weights that are free, until none of them would pass zero; the others go to zero.
func (f *labelFit) stepWeights(s *modelState, sums []float64) error {
	gradient, curvature := f.quadratic(s, sums)
	step := make([]float64, f.width)
	var free []int
	for i := range f.width {
		free = append(free, i)
	}
	for {
		if err := f.stepFree(s, gradient, curvature, free, step); err != nil {
			return err
		}
		positive := slices.DeleteFunc(slices.Clone(free), func(i int) bool { return s.weights[i]+step[i] < 0 })
		if len(positive) == len(free) {
			break
		}
		free = positive
	}
	furthest := 1.0
	for _, length := range step {
		furthest = max(furthest, math.Abs(length))
	}
	for i, length := range step {
		s.weights[i] = max(0, s.weights[i]+length/furthest)
	}
	return nil
}

// quadratic is the penalized gradient of the weights [width], and minus their second derivatives [width×width].
func (f *labelFit) quadratic(s *modelState, sums []float64) (gradient []float64, curvature [][]float64) {
	gradient, curvature = make([]float64, f.width), classmatrix.Dense(f.width)
	at := 1 + f.width
	for i, weight := range s.weights {
		gradient[i] = sums[1+i] - weightPenalty*weight
		for j := i; j < f.width; j++ {
			value := sums[at]
			if at++; i == j {
				value += weightPenalty
			}
			curvature[i][j], curvature[j][i] = value, value
		}
	}
	return gradient, curvature
}

// stepFree writes to step where free weights have the maximum of a quadratic when all others go to zero.
func (f *labelFit) stepFree(
	s *modelState, gradient []float64, curvature [][]float64, free []int, step []float64,
) error {
	for i, weight := range s.weights {
		step[i] = -weight
	}
	n := len(free)
	of, right := make([]float64, n*n), make([]float64, n)
	for a, i := range free {
		for b, j := range free {
			of[a*n+b] = curvature[i][j]
		}
		right[a] = gradient[i]
		for j := range f.width {
			if !slices.Contains(free, j) {
				right[a] -= float64(curvature[i][j] * step[j])
			}
		}
	}
	var algebra lapack.Implementation
	if !algebra.Dpotrf(blas.Lower, n, of, max(n, 1)) {
		return fmt.Errorf("label model: the curvature of %d weights has no Cholesky factors", n)
	}
	algebra.Dpotrs(blas.Lower, n, 1, of, max(n, 1), right, 1)
	for a, i := range free {
		step[i] = right[a]
	}
	return nil
}

// countLabels counts the posteriors, by given and true class, row after row.
func (f *labelFit) countLabels(s *modelState) {
	for _, line := range s.counts.held {
		clear(line)
	}
	for r, y := range f.labels {
		if y == kv.NoClass {
			continue
		}
		line := s.counts.held[y]
		for k, q := range f.posterior.Data[r*f.classes:][:f.classes] {
			line[k] += float64(q)
		}
	}
	for i, line := range s.counts.held {
		if line != nil {
			s.right[i] = line[i]
		}
	}
}

// stepIntercepts moves each intercept so far that the chances of its class add up to its posteriors, less the penalty,
// as if they were multiplied by one factor. surplus holds the posteriors less the chances, by class.
func (f *labelFit) stepIntercepts(s *modelState, surplus []float64) {
	posteriors := make([]float64, f.classes)
	for _, line := range s.counts.held {
		for k, count := range line {
			posteriors[k] += count
		}
	}
	for k, more := range surplus {
		chances := max(posteriors[k]-more, 0)
		var step float64
		for range 20 { // posteriors − chances·exp(step) − penalty·(intercept + step) = 0, by Newton
			grown := float64(chances * elementary.Exp(step))
			step += max(-1, min(1, (posteriors[k]-grown-float64(weightPenalty*(s.intercepts[k]+step)))/(grown+weightPenalty)))
		}
		s.intercepts[k] += step
	}
}

// model is a state in the terms of features as they are.
func (f *labelFit) model(s *modelState) *Model {
	m := &Model{
		Classes: f.classes, Alike: f.alike, Flips: flipsOf(s.counts), Right: s.right, Intercepts: s.intercepts,
	}
	for j, weight := range s.weights {
		m.Weights = append(m.Weights, weight/f.scale[j])
	}
	return m
}
