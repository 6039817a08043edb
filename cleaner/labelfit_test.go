package cleaner

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/longtest"
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
	m := mixture{width: 3}
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
			if f < 2 {
				logits[right] += 5
			}
			softmaxRow(logits)
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

func (m mixture) fit(t *testing.T, classes, workers int) *LabelModel {
	t.Helper()
	model, err := fitLabels(context.Background(), nil, m.given, m.z, classes, m.width, workers, nil)
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func TestRateOfMixtures(t *testing.T) {
	for _, shift := range []bool{false, true} {
		for _, taught := range []bool{false, shift} {
			for i, rate := range []float64{0.02, 0.05, 0.1, 0.2} {
				if !longtest.Asked && (i%2 == 1) == taught { // each rate and each mixture at least once
					continue
				}
				m := newMixture(7, 3000, 5, rate, shift, taught)
				model := m.fit(t, 5, 2)
				if math.Abs(model.Rate-rate) > 0.01+0.15*rate {
					t.Errorf("shift %v, taught %v, rate %v: got %.4f", shift, taught, rate, model.Rate)
				}
				var expected, wrong, found float64
				dense, classes := model.dense(), make([]kv.Class, 5)
				for r, y := range m.given {
					rows := make([]float32, 0, 15)
					for i := range classes {
						classes[i] = kv.Class((int(y) + i) % 5)
						at := (r*5 + int(classes[i])) * m.width
						rows = append(rows, m.z[at:at+m.width]...)
					}
					score := dense.score(classes, rows, false, make([]float64, 8))
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
	_, err := fitLabels(ctx, nil, m.given, m.z, 3, m.width, 2, func(rates, _ int) {
		if rates == 2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled after two rates: got %v, want context.Canceled", err)
	}
}

func TestExpectedRate(t *testing.T) {
	// With flat likelihoods it is the mean of the prior on the grid, with sharp ones where they are.
	flat := make([]float64, len(rateGrid))
	if got := expectedRate(rateGrid, flat); math.Abs(got-2./22) > 0.02 {
		t.Errorf("without a word from the labels: got %v, want about the mean of the prior, %v", got, 2./22)
	}
	for i, p := range rateGrid {
		sharp := make([]float64, len(rateGrid))
		sharp[i] = 500
		if got := expectedRate(rateGrid, sharp); math.Abs(got-p) > 1e-9 {
			t.Errorf("all for %v: got %v", p, got)
		}
	}
}

func BenchmarkLabelModel(b *testing.B) {
	const rows, classes = 2000, 10
	m := newMixture(1, rows, classes, 0.05, false, false)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := fitLabels(b.Context(), nil, m.given, m.z, classes, m.width, 1, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(rows*classes*float64(b.N)/b.Elapsed().Seconds(), "cells/s")
}
