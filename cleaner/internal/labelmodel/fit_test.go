package labelmodel

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

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
			nn.Softmaxes(logits, len(logits))
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
	return must.Get(Fit(context.Background(), nil, m.rows(classes), workers, nil))(t)
}

// rate is the share of wrong labels that the fit found.
func (m *Model) rate() float64 {
	var wrong, right float64
	for _, cell := range m.Flips {
		wrong += cell.Value
	}
	for _, count := range m.Right {
		right += count
	}
	return wrong / max(wrong+right, 1)
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
				if math.Abs(model.rate()-rate) > 0.01+0.15*rate {
					t.Errorf("shift %v, taught %v, rate %v: got %.4f", shift, taught, rate, model.rate())
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
					score := dense.Judge(classes, rows, false, make([]float64, 5+len(rows))).Score
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

// TestRateWithoutMislabels: little of the prior is left.
func TestRateWithoutMislabels(t *testing.T) {
	if model := newMixture(3, 3000, 5, 0, false, false).fit(t, 5, 2); model.rate() > 0.01 {
		t.Errorf("rate where no label is wrong: got %.4f, want at most 0.01", model.rate())
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
		if !(model.rate() >= 0 && model.rate() < 0.5) {
			t.Fatalf("%d rows of %d classes: got rate %v", rows, classes, model.rate())
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
	_, err := Fit(ctx, nil, m.rows(3), 2, func(sweeps, _ int) {
		if sweeps == 2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled after two sweeps: got %v, want context.Canceled", err)
	}
}

// newFit takes the rows of a mixture.
func (m mixture) newFit(t *testing.T, classes int) *labelFit {
	t.Helper()
	f := must.Get(newLabelFit(context.Background(), nil, m.rows(classes), 1))(t)
	t.Cleanup(func() { must.Do(t, f.Close()) })
	return f
}

// TestWeightsNeverGoDown: where all labels are right, what a fit comes to is no less likely than what plain Newton
// steps have passed. From where these few rows are begun with, such steps go too far.
func TestWeightsNeverGoDown(t *testing.T) {
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
		f := m.newFit(t, classes)
		start := func() *modelState {
			s := f.start(0)
			for i := range s.weights {
				s.weights[i] = float64(seed >> i % 2 * 6)
			}
			return s
		}
		state := start()
		settled, err := f.maximize(ctx, state)
		if err != nil || !settled {
			t.Fatalf("seed %d: got settled %v and error %v, want true and none", seed, settled, err)
		}
		value := state.likelihood + f.penalty(state)
		passed, plain := math.Inf(-1), start()
		for range MostSweeps {
			sums := must.Get(f.sweep(ctx, plain))(t)
			at := sums[0] + f.penalty(plain)
			if at < passed {
				break
			}
			passed = at
			must.Do(t, f.stepWeights(plain, sums))
		}
		if value < passed-0.1 {
			t.Errorf("seed %d: came to log-likelihood %v, having passed %v", seed, value, passed)
		}
	}
}

// TestIntercepts: a class that the predictions fall short of is no more suspected for it.
func TestIntercepts(t *testing.T) {
	m := newMixture(11, 3000, 5, 0, false, false)
	for i := 0; i < len(m.z); i += 5 * m.width {
		m.z[i] *= 0.05 // of class 0
	}
	model := m.fit(t, 5, 2)
	if least := slices.Max(model.Intercepts[1:]); model.Intercepts[0] < least+0.5 {
		t.Errorf("got intercepts %v, want the first far above the others", model.Intercepts)
	}
	if model.rate() > 0.02 {
		t.Errorf("got rate %v, want none", model.rate())
	}
}

// TestChannel compares its rates with the formula, class by class, also those of lines that are not held, and the
// chances of a class add up to 1.
func TestChannel(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 0))
	for range 50 {
		c := 2 + r.IntN(6)
		var given []int
		for i := range c {
			if r.IntN(3) > 0 {
				given = append(given, i)
			}
		}
		counts, right := newLines(c, given), make([]float64, c)
		for k := range right {
			right[k] = 100 * r.Float64()
		}
		for _, i := range given {
			for k := range counts.of(i) {
				counts.of(i)[k] = 20 * r.Float64() // that of itself does not count
			}
		}
		before := counts.clone()
		for _, alike := range []bool{false, true} {
			w := newChannel(before.clone(), right, alike)
			for k := range c {
				labels, sum := right[k]+priorLabels, w.of(k, k)
				for _, i := range given {
					if i != k {
						labels += before.of(i)[k]
					}
				}
				for i := range c {
					if i == k {
						continue
					}
					sum += w.of(i, k)
					want := (before.of(i)[k] + priorWrong/float64(c-1)) / labels
					if alike {
						want = w.of(1, 0)
					}
					if got := w.of(i, k); math.Abs(got-want) > 1e-12 {
						t.Errorf("alike %v, rate %d to %d: got %v, want %v", alike, k, i, got, want)
					}
				}
				if math.Abs(sum-1) > 1e-12 {
					t.Errorf("alike %v: the chances of class %d add up to %v", alike, k, sum)
				}
			}
		}
	}
}
