package labelmodel

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A modelState is the parameters of a model during a fit.
type modelState struct {
	rate    float64
	weights []float64 // standardized

	// A line of these is a class that rows are given, an entry a true class; see normalizeFlips.
	counts *lines // expected wrong labels that are not just anything
	habits *lines // V
	flip   *lines // U
}

// start leaves all to the predictions, and has wrong labels go anywhere.
func (f *labelFit) start() *modelState {
	var labels []int
	for _, y := range f.labels {
		if y != kv.NoClass {
			labels = append(labels, int(y))
		}
	}
	matrix := func() *lines { return newLines(f.classes, labels) }
	s := &modelState{weights: make([]float64, f.width), counts: matrix(), habits: matrix(), flip: matrix()}
	s.weights[0] = 1
	s.setFlips(f.prior)
	return s
}

// setFlips computes V and U from the counts.
func (s *modelState) setFlips(prior float64) {
	copy(s.habits.values, s.counts.values)
	normalizeFlips(s.habits, prior)
	copy(s.flip.values, s.habits.values)
	copy(s.flip.other, s.habits.other)
	blendFlips(s.flip)
}

// flips are the counts that are kept, by true class and given one.
func (s *modelState) flips() []classmatrix.Cell {
	cells := s.counts.cells(leastFlipCount)
	for i, cell := range cells {
		cells[i].Row, cells[i].Column = cell.Column, cell.Row
	}
	slices.SortFunc(cells, classmatrix.Compare)
	return cells
}

// What a sweep sums up over rows: the log-likelihood, the gradient [width], and the upper triangle of the curvature
// [width×(width+1)/2] of the weights.
func (f *labelFit) sumWidth() int { return 1 + f.width + f.width*(f.width+1)/2 }

// sweep computes the posteriors of a state, and the sums.
func (f *labelFit) sweep(ctx context.Context, s *modelState) ([]float64, error) {
	for i := range f.noise {
		f.noise[i] = 1
	}
	for i, of := range f.kinds[1:] {
		s.noiseUnder(of, f.noise[(i+1)*f.classes:][:f.classes])
	}
	var weights []float64 // a vector each
	for _, weight := range s.weights {
		weights = append(weights, slices.Repeat([]float64{weight}, lanes)...)
	}
	partial := make([]float64, f.countTeams()*lanes*f.sumWidth())
	err := f.teams(ctx, func(worker, team, first, end int) {
		sums := make([]float64, f.sumWidth()*lanes)
		step := len(f.scratch[worker].likelihood) / lanes
		for ; first < end; first += step {
			last := min(first+step, end)
			f.sweepLines(weights, first, last, f.scratch[worker].of(last-first, f.classes), sums)
		}
		putLanes(partial, team, sums)
	})
	return addParts(partial, f.sumWidth()), err
}

// sweepLines writes the posteriors of the lines from first to end, and adds to their sums.
func (f *labelFit) sweepLines(weights []float64, first, end int, of sweepScratch, sums []float64) {
	cell, kinds := f.classes*lanes, f.kindOf[first*lanes:end*lanes]
	weigh(of.chance, f.between(first, end), weights, f.classes, f.width)
	elementary.Exps(of.chance)
	judge(of.chance, of.excess, f.posterior.Data[first*cell:end*cell], of.likelihood, f.noise, kinds, f.classes)
	elementary.Logs(of.likelihood)
	for i, log := range of.likelihood {
		if kinds[i] > 0 {
			sums[i%lanes] += log
		}
	}
	addLines(sums[lanes:], f.between(first, end), of, f.classes, f.width)
}

// maximize improves a state at its rate until a sweep gains less than tolerance, and returns the penalized log-likelihood it
// has come to. settled is false where it still gained after MostSweeps.
//
// A sweep that U and weights have made worse is a Newton step that went too far: the weights go half of the way back.
func (f *labelFit) maximize(ctx context.Context, s *modelState, tolerance float64) (value float64, settled bool, err error) {
	last, halvings := math.Inf(-1), 0
	before := slices.Clone(s.weights)
	for sweep := range MostSweeps {
		sums, err := f.sweep(ctx, s)
		if err != nil {
			return 0, false, err
		}
		value := sums[0] + f.penalty(s)
		if value < last && halvings < mostHalvings {
			for i, weight := range s.weights {
				s.weights[i] = (weight + before[i]) / 2
			}
			halvings++
			continue
		}
		if sweep+1 >= leastSweeps && value-last < tolerance {
			return value, true, nil
		}
		last, halvings = value, 0
		copy(before, s.weights)
		if err := f.stepWeights(s, sums); err != nil {
			return 0, false, err
		}
		if err := f.stepFlips(ctx, s); err != nil {
			return 0, false, err
		}
	}
	return last, false, nil
}

// penalty is the logarithm of the priors of weights and U, but for constants.
func (f *labelFit) penalty(s *modelState) (value float64) {
	for _, weight := range s.weights {
		value -= float64(weightPenalty * weight * weight / 2)
	}
	each := f.prior / float64(max(f.classes-1, 1))
	for k := range f.classes {
		others := f.classes - 1 // of the classes that k may be given as
		for _, i := range s.habits.numbers {
			if i != k {
				value += float64(each * elementary.Log(s.habits.at(i, k)))
				others--
			}
		}
		if others > 0 {
			value += float64(float64(others) * each * elementary.Log(s.habits.other[k]))
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
func (f *labelFit) stepFree(s *modelState, gradient []float64, curvature [][]float64, free []int, step []float64) error {
	for i, weight := range s.weights {
		step[i] = -weight
	}
	of, right := classmatrix.Dense(len(free)), make([]float64, len(free))
	for a, i := range free {
		for b, j := range free {
			of[a][b] = curvature[i][j]
		}
		right[a] = gradient[i]
		for j := range f.width {
			if !slices.Contains(free, j) {
				right[a] -= float64(curvature[i][j] * step[j])
			}
		}
	}
	if !solveByCholesky(of, right) {
		return fmt.Errorf("label model: the curvature of %d weights has no Cholesky factors", len(free))
	}
	for a, i := range free {
		step[i] = right[a]
	}
	return nil
}

// stepFlips takes U from the posteriors.
func (f *labelFit) stepFlips(ctx context.Context, s *modelState) error {
	if f.uniform {
		return nil
	}
	clear(s.counts.values)
	groups := (f.classes + countedClasses - 1) / countedClasses
	err := parallel.Do(ctx, len(f.scratch), groups, func(_ context.Context, worker, group int) error {
		f.countFlips(s.counts, group*countedClasses, min((group+1)*countedClasses, f.classes), f.scratch[worker].rows)
		return nil
	})
	if err != nil {
		return err
	}
	for _, i := range s.counts.numbers {
		counts, habits, flip := s.counts.of(i), s.habits.of(i), s.flip.of(i)
		counts[i] = 0
		for k := range counts {
			if k != i { // the part that V has in U
				counts[k] *= (1 - anyFlip) * habits[k] / flip[k]
			}
		}
	}
	s.setFlips(f.prior)
	return nil
}

// countedClasses are the true classes whose wrong labels are counted at once.
const countedClasses = 4

// countFlipsPlainly adds up the posteriors of the true classes from first to end by given label, row after row.
func (f *labelFit) countFlipsPlainly(counts *lines, first, end int) {
	step := f.classes * lanes
	for r := 0; r < len(f.labels); r += sweepRows {
		line, lane := placeOf(r)
		at := line*step + first*lanes + lane
		for _, y := range f.labels[r:min(r+sweepRows, len(f.labels))] {
			q := f.posterior.Data[at:]
			at += step
			if y == kv.NoClass {
				continue
			}
			to := counts.of(int(y))[first:end]
			if len(to) == countedClasses {
				q = q[:(countedClasses-1)*lanes+1]
				to[0] += float64(q[0])
				to[1] += float64(q[lanes])
				to[2] += float64(q[2*lanes])
				to[3] += float64(q[3*lanes])
				continue
			}
			for k := range to {
				to[k] += float64(q[k*lanes])
			}
		}
	}
}

// model is a state in the terms of features as they are.
func (f *labelFit) model(s *modelState) *Model {
	m := &Model{Classes: f.classes, Rate: s.rate, Prior: f.prior, Background: f.background.cells(leastBackground)}
	m.Weights = make([]float64, f.columns[len(f.columns)-1]+1)
	for j, column := range f.columns {
		m.Weights[column] = s.weights[j] / f.scale[j]
	}
	if votes := len(f.columns); f.votes != nil {
		m.VoteWeight = s.weights[votes] / f.scale[votes]
	}
	m.Flips = s.flips()
	return m
}
