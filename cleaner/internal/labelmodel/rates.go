package labelmodel

import (
	"context"
	"math"
	"slices"
	"sort"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/calibration"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
)

// rateGrid are the mislabel rates at which a label model is fitted, to learn which of them the labels speak for.
var rateGrid = []float64{.001, .002, .005, .01, .015, .02, .03, .04, .055, .075, .1, .13, .17, .22, .3, .4, .5, .6}

// RatesFor are those of rateGrid that a graph of so many classes can have. Random labels are wrong at a rate of (c−1)/c.
func RatesFor(classes int) []float64 {
	const ofRandom = 0.85
	most := ofRandom * float64(classes-1) / float64(max(classes, 1))
	return rateGrid[:sort.Search(len(rateGrid), func(i int) bool { return i > 0 && rateGrid[i] > most })]
}

// A fitAtRate is where a fit has come to at a rate of the grid.
type fitAtRate struct {
	value   float64 // penalized log-likelihood
	settled bool
	weights []float64
	counts  []classmatrix.Cell // of modelState
}

// tryRates fits at every rate of the grid, descending, each from where the one before came to, and returns the profile of Fit.
func (f *labelFit) tryRates(ctx context.Context, done func(rates, of int)) (fits []fitAtRate, profile []float64, err error) {
	state := f.start()
	fits, profile = make([]fitAtRate, len(f.rates)), make([]float64, len(f.rates))
	for i := len(f.rates) - 1; i >= 0; i-- {
		state.rate = f.rates[i]
		value, settled, err := f.maximize(ctx, state, pathTolerance)
		if err != nil {
			return nil, nil, err
		}
		fits[i] = fitAtRate{value, settled, slices.Clone(state.weights), state.flips()}
		profile[i] = value / dependence
		if done != nil {
			done(len(f.rates)-i, len(f.rates)+1)
		}
	}
	return fits, profile, nil
}

// from is the state at a rate with the weights and U that were found there.
func (f *labelFit) from(at fitAtRate, rate float64) *modelState {
	state := f.start()
	state.rate, state.weights = rate, slices.Clone(at.weights)
	for _, cell := range at.counts {
		state.counts.of(cell.Column)[cell.Row] = cell.Value
	}
	state.setFlips(f.prior)
	return state
}

// fit finds the rate, and the model at that rate, and the profile of Fit. done, where not nil, is told of every rate that was tried, and of
// the end.
func (f *labelFit) fit(ctx context.Context, done func(rates, of int)) (m *Model, profile []float64, err error) {
	fits, profile, err := f.tryRates(ctx, done)
	if err != nil {
		return nil, nil, err
	}
	rate := calibration.MeanRate(f.rates, profile)
	nearest := 0
	for i, p := range f.rates {
		if math.Abs(p-rate) < math.Abs(f.rates[nearest]-rate) {
			nearest = i
		}
	}
	state := f.from(fits[nearest], rate)
	_, settled, err := f.maximize(ctx, state, finalTolerance)
	if err != nil {
		return nil, nil, err
	}
	m = f.model(state)
	for _, one := range append(fits, fitAtRate{settled: settled}) {
		if !one.settled {
			m.Unsettled++
		}
	}
	if done != nil {
		done(len(f.rates)+1, len(f.rates)+1)
	}
	return m, profile, nil
}
