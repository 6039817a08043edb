package labelmodel

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestSums compares the sums of a sweep with differences of the log-likelihood, and the counts with posteriors row by
// row.
func TestSums(t *testing.T) {
	ctx := context.Background()
	for _, classes := range []int{2, 3, 5, 9} {
		m := newMixture(uint64(classes), 700, classes, 0.2, true, true)
		f := m.newFit(t, classes)
		f.labels[13] = kv.NoClass
		r := rand.New(rand.NewPCG(2, 0))
		s := f.start(0.2)
		for i := range s.weights {
			s.weights[i] = r.Float64()
		}
		for k := range s.intercepts {
			s.intercepts[k] = r.NormFloat64()
		}
		at := func() float64 { return must.Get(f.sweep(ctx, s))(t)[0] }
		sums := slices.Clone(must.Get(f.sweep(ctx, s))(t))
		f.countLabels(s)
		want := classmatrix.Dense(classes)
		for row, y := range f.labels {
			if y == kv.NoClass { // its posteriors are 0, whatever the row before it has
				y = 0
			}
			for k := range classes {
				want[y][k] += float64(f.posterior.Data[row*classes+k])
			}
		}
		for i, line := range s.counts.held {
			for k, got := range line {
				if !near(got, want[i][k], 1e-9) {
					t.Fatalf("%d classes: label %d of class %d is counted %v times, want %v", classes, i, k, got, want[i][k])
				}
			}
		}
		difference := func(of *float64) float64 {
			const step = 1e-4
			before := *of
			*of = before + step
			above := at()
			*of = before - step
			below := at()
			*of = before
			return (above - below) / (2 * step)
		}
		for j := range s.weights {
			if want := difference(&s.weights[j]); !near(sums[1+j], want, 1e-3*(1+math.Abs(want))) {
				t.Errorf("%d classes: derivative by weight %d is %v, want %v", classes, j, sums[1+j], want)
			}
		}
		for k := range s.intercepts {
			if got, want := sums[f.weightSums()+k], difference(&s.intercepts[k]); !near(got, want, 1e-3*(1+math.Abs(want))) {
				t.Errorf("%d classes: derivative by intercept %d is %v, want %v", classes, k, got, want)
			}
		}
	}
}
