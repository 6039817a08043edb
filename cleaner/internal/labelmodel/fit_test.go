package labelmodel

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/calibration"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A mixture is rows of which a known part has a wrong label.
type mixture struct {
	given []kv.Class
	wrong []bool
	z     []float32 // [rows×classes×3]: what two witnesses of the true class say, and what a third says of nothing
	width int
}

// newMixture gives a share rate of the rows the next class where shift, else any other. Where taught, the first witness
// was trained on such labels: it predicts the next class, too, with that chance.
func newMixture(seed uint64, rows, classes int, rate float64, shift, taught bool) mixture {
	r := rand.New(rand.NewPCG(seed, 0))
	m := mixture{width: 5}
	for range rows {
		right := r.IntN(classes)
		given := right
		if r.Float64() < rate {
			step := 1
			if !shift {
				step += r.IntN(classes - 1)
			}
			given = (right + step) % classes
		}
		m.given, m.wrong = append(m.given, kv.Class(given)), append(m.wrong, given != right)
		z := make([]float32, classes*m.width)
		for f := range m.width {
			logits := make([]float32, classes)
			for k := range logits {
				logits[k] = float32(r.NormFloat64())
			}
			if f == 0 || f == 3 {
				logits[right] += 5
			}
			nn.Softmax(logits)
			for k, p := range logits {
				z[k*m.width+f] += p
				if f == 0 && taught {
					z[k*m.width] -= float32(rate) * p
					z[(k+1)%classes*m.width] += float32(rate) * p
				}
			}
		}
		m.z = append(m.z, z...)
	}
	return m
}

func (m mixture) rows(classes int) Rows {
	return Rows{Labels: m.given, Z: m.z, Classes: classes, Width: m.width}
}

func (m mixture) fit(t *testing.T, classes, workers int) *Model {
	t.Helper()
	model, _, err := Fit(context.Background(), nil, m.rows(classes), workers, nil)
	must.Do(t, err)
	return model
}

func TestRateOfMixtures(t *testing.T) {
	for _, shift := range []bool{false, true} {
		for _, taught := range []bool{false, shift} {
			for i, rate := range []float64{0.02, 0.05, 0.1, 0.2} {
				if !longtest.Asked() && (i%2 == 1) == taught { // each rate and each mixture at least once
					continue
				}
				m := newMixture(7, 3000, 5, rate, shift, taught)
				model := m.fit(t, 5, 2)
				if math.Abs(model.Rate-rate) > 0.01+0.15*rate {
					t.Errorf("shift %v, taught %v, rate %v: got %.4f", shift, taught, rate, model.Rate)
				}
				var expected, wrong, found float64
				dense, classes := model.Scorer(), make([]kv.Class, 5)
				for r, y := range m.given {
					rows := make([]float32, 0, 15)
					for i := range classes {
						classes[i] = kv.Class((int(y) + i) % 5)
						at := (r*5 + int(classes[i])) * m.width
						rows = append(rows, m.z[at:at+m.width]...)
					}
					score := dense.Score(classes, rows, nil, false, make([]float64, 5+len(rows)))
					if expected += score; m.wrong[r] {
						wrong++
						found += score
					}
				}
				if math.Abs(expected-wrong) > 10+0.15*wrong || found < 0.75*wrong {
					t.Errorf("shift %v, taught %v, rate %v: scores add up to %.1f, those of the %v wrong labels to %.1f",
						shift, taught, rate, expected, wrong, found)
				}
			}
		}
	}
}

// TestBackgroundWhereConfused: a model has a background where the classifier has learned a systematic confusion of labels,
// and none where labels go anywhere.
func TestBackgroundWhereConfused(t *testing.T) {
	if model := newMixture(7, 3000, 5, 0.2, true, true).fit(t, 5, 2); len(model.Background) == 0 {
		t.Error("a fifth of the labels confused, and learned: got no background")
	}
	if model := newMixture(7, 3000, 5, 0.1, false, false).fit(t, 5, 2); len(model.Background) != 0 {
		t.Errorf("labels that go anywhere: got background %v, want none", model.Background)
	}
}

// TestRateWithoutMislabels: a flat likelihood leaves some of the prior.
func TestRateWithoutMislabels(t *testing.T) {
	if model := newMixture(3, 3000, 5, 0, false, false).fit(t, 5, 2); model.Rate > 0.01 {
		t.Errorf("rate where no label is wrong: got %.4f, want at most 0.01", model.Rate)
	}
}

func TestModelIsTheSameAtAnyWorkers(t *testing.T) {
	m := newMixture(5, 1500, 4, 0.1, true, true)
	if one, four := m.fit(t, 4, 1), m.fit(t, 4, 4); !reflect.DeepEqual(one, four) {
		t.Errorf("models of one and four workers: got %+v and %+v", one, four)
	}
}

func TestModelOfAwkwardRows(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 0))
	for range 30 {
		rows, classes := r.IntN(12), 2+r.IntN(4)
		m := newMixture(r.Uint64(), rows, classes, 0.3, false, false)
		for i := range m.z {
			switch r.IntN(10) {
			case 0:
				m.z[i] = float32(math.NaN())
			case 1, 2:
				m.z[i] = 0
			}
		}
		model := m.fit(t, classes, 2)
		if !(model.Rate > 0 && model.Rate < 0.5) {
			t.Fatalf("%d rows of %d classes: got rate %v", rows, classes, model.Rate)
		}
		for _, weight := range model.Weights {
			if !(weight >= 0) || math.IsInf(weight, 0) {
				t.Fatalf("%d rows of %d classes: got weights %v, want none below zero:", rows, classes, model.Weights)
			}
		}
	}
}

func TestFitIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	m := newMixture(6, 600, 3, 0.1, false, false)
	_, _, err := Fit(ctx, nil, m.rows(3), 2, func(rates, _ int) {
		if rates == 2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled after two rates: got %v, want context.Canceled", err)
	}
}

// TestSameRowsAreFittedOnce: of rows that were fitted before the model comes without trying a rate, and others are fitted.
func TestSameRowsAreFittedOnce(t *testing.T) {
	rows, fits := newMixture(7, 600, 4, 0.1, true, true).rows(4), Fits{}
	fit := func(of Rows) (model *Model, profile []float64, told int) {
		t.Helper()
		model, profile, err := Fit(t.Context(), nil, of, 2, func(_, _ int) { told++ })
		must.Do(t, err)
		return model, profile, told
	}
	want, wantProfile, _ := fit(rows)
	rows.Fits = fits
	first, _, _ := fit(rows)
	first.Doubtful, first.Rate = true, 1 // as its owner may
	for name, c := range map[string]struct {
		change func(*Rows)
		known  bool
	}{
		"nothing": {func(*Rows) {}, true},
		"features without weight": {func(of *Rows) {
			of.Z = slices.Clone(of.Z)
			for i := range of.Z {
				if i%of.Width == 1 || i%of.Width == 2 {
					of.Z[i] = 0
				}
			}
		}, true},
		"a label":      {func(of *Rows) { of.Labels = slices.Clone(of.Labels); of.Labels[70] = (of.Labels[70] + 1) % 4 }, false},
		"a prediction": {func(of *Rows) { of.Z = slices.Clone(of.Z); of.Z[10*4*of.Width] /= 2 }, false},
		"a truth": {func(of *Rows) {
			of.Truth = slices.Repeat([]kv.Class{kv.NoClass}, len(of.Labels))
			of.Truth[3] = AnotherClass
		}, false},
		"doubt": {func(of *Rows) { of.Doubtful = true }, false},
		"votes": {func(of *Rows) { of.Votes = normals(rand.New(rand.NewPCG(3, 0)), len(of.Labels)*4) }, false},
	} {
		of := rows
		c.change(&of)
		got, profile, told := fit(of)
		if (told == 0) != c.known {
			t.Errorf("%s changed: a model was found without a fit: %v, want %v", name, told == 0, c.known)
		}
		if c.known && (!reflect.DeepEqual(got, want) || !slices.Equal(profile, wantProfile)) {
			t.Errorf("%s changed: got %+v, want %+v", name, got, want)
		}
	}
}

// TestFewRowsTakeLittle: one worker sweeps few rows.
func TestFewRowsTakeLittle(t *testing.T) {
	const classes, workers = 3, 16
	rows := newMixture(7, 100, classes, 0.1, false, false).rows(classes)
	f := must.Get(newLabelFit(t.Context(), nil, rows, evidenceColumns(rows.Width), workers, noBackground))(t)
	if len(f.scratch) != 1 {
		t.Errorf("%d rows, %d workers: got memory to sweep for %d, want 1", len(rows.Labels), workers, len(f.scratch))
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestExpectedRate(t *testing.T) {
	// With flat likelihoods it is the mean of the prior on the grid, with sharp ones where they are.
	flat := make([]float64, len(rateGrid))
	if got := calibration.MeanRate(rateGrid, flat); math.Abs(got-2./22) > 0.02 {
		t.Errorf("without a word from the labels: got %v, want about the mean of the prior, %v", got, 2./22)
	}
	for i, p := range rateGrid {
		sharp := make([]float64, len(rateGrid))
		sharp[i] = 500
		if got := calibration.MeanRate(rateGrid, sharp); math.Abs(got-p) > 1e-9 {
			t.Errorf("all for %v: got %v", p, got)
		}
	}
}

// newFit takes the rows of a mixture.
func (m mixture) newFit(t *testing.T, classes int, background float64) *labelFit {
	t.Helper()
	f := must.Get(newLabelFit(context.Background(), nil, m.rows(classes), evidenceColumns(m.width), 1, background))(t)
	t.Cleanup(func() { must.Do(t, f.Close()) })
	return f
}

// TestFitGoesOnFromARate: weights and matrix of a rate belong together, and are as likely as they were when it was tried.
func TestFitGoesOnFromARate(t *testing.T) {
	f := newMixture(7, 3000, 5, 0.2, true, true).newFit(t, 5, noBackground)
	tried, _, err := f.tryRates(context.Background(), nil)
	must.Do(t, err)
	for i, at := range tried {
		state := f.from(at, f.rates[i])
		sums := must.Get(f.sweep(context.Background(), state))(t)
		if value := sums[0] + f.penalty(state); value < at.value-0.1 {
			t.Errorf("rate %v: got log-likelihood %v to go on from, want %v", rateGrid[i], value, at.value)
		}
	}
}

// TestFitNeverGoesDown: what a fit comes to is no less likely than what it has passed. From where these few rows are begun
// with, plain Newton steps go too far.
func TestFitNeverGoesDown(t *testing.T) {
	ctx := context.Background()
	for _, seed := range []uint64{1238, 1526, 3914, 4024, 4210, 6119, 6425, 9503, 11129} {
		r := rand.New(rand.NewPCG(seed, 0))
		classes := 2 + r.IntN(6)
		m := newMixture(r.Uint64(), 5+r.IntN(60), classes, r.Float64()/2, seed%2 == 0, false)
		for i := range m.z {
			switch r.IntN(4) {
			case 0:
				m.z[i] = 0
			case 1:
				m.z[i] = float32(math.Pow(10, -6*r.Float64()))
			}
		}
		f := m.newFit(t, classes, noBackground)
		start := func() *modelState {
			s := f.start()
			s.rate = []float64{0.4, 0.02, 0.1}[seed%3]
			for i := range s.weights {
				s.weights[i] = float64(seed >> i % 2 * 6)
			}
			return s
		}
		value, settled, err := f.maximize(ctx, start(), pathTolerance)
		if err != nil || !settled {
			t.Fatalf("seed %d: got settled %v and error %v, want true and none", seed, settled, err)
		}
		passed, plain := math.Inf(-1), start()
		for range MostSweeps {
			sums := must.Get(f.sweep(ctx, plain))(t)
			at := sums[0] + f.penalty(plain)
			if at < passed {
				break
			}
			passed = at
			must.Do(t, f.stepWeights(plain, sums))
			must.Do(t, f.stepFlips(ctx, plain))
		}
		if value < passed-1e-6 {
			t.Errorf("seed %d: came to log-likelihood %v, having passed %v", seed, value, passed)
		}
	}
}

// TestFitThatDoesNotSettle asks for gains that none has.
func TestFitThatDoesNotSettle(t *testing.T) {
	f := newMixture(7, 200, 3, 0.2, true, false).newFit(t, 3, noBackground)
	if _, settled, err := f.maximize(context.Background(), f.start(), math.Inf(-1)); settled || err != nil {
		t.Errorf("got settled %v and error %v, want false and none", settled, err)
	}
}

func BenchmarkLabelModel(b *testing.B) {
	const rows, classes = 2000, 10
	m := newMixture(1, rows, classes, 0.05, false, false)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Fit(b.Context(), nil, m.rows(classes), 1, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(rows*classes*float64(b.N)/b.Elapsed().Seconds(), "cells/s")
}
