package evaluate

import (
	"context"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
)

// How the mixture of losses is fitted, as the code of arXiv:1904.11238 does it.
const (
	mixtureSteps    = 10
	mixtureTail     = 0.05 // share of the losses that is left out at either end
	mixtureEdge     = 1e-3 // how near losses come to 0 and 1
	mixturePoints   = 100  // at which the posterior is looked for its greatest
	leastVariance   = 1e-8
	tiedByValue     = 1e-9 // of the score: it orders nodes of one posterior by what it is of
	leastPrediction = 1e-12
)

// dynamicBootstrap is the detector of DYB (Arazo, Ortego, Albert, O'Connor, McGuinness: "Unsupervised Label Noise
// Modeling and Loss Correction", arXiv:1904.11238): the cross-entropies −log P[v][ỹ] of the nodes, scaled to
// [0,1] between their 5th and 95th percentile, are taken for a mixture of two beta distributions, fitted by expectation
// maximization with moments, and a node is flagged where the posterior of the component with the larger mean exceeds
// 0.5. Beyond its greatest the posterior does not fall again. The score is that posterior; equal ones are in the order
// of the losses.
//
// Where all losses between the percentiles are the same there is nothing to tell apart, and no node is flagged.
func dynamicBootstrap(ctx context.Context, t *trial, m *Measurement) error {
	lossOf := func(p float32) float64 { return -elementary.Log(max(float64(p), leastPrediction)) }
	var losses []float64
	err := t.each(ctx, func(_ kv.NodeID, y kv.Class, row []float32) { losses = append(losses, lossOf(row[y])) })
	if err != nil {
		return err
	}
	mixture := fitBetas(losses)
	return t.each(ctx, func(v kv.NodeID, y kv.Class, row []float32) {
		posterior := mixture.posterior(lossOf(row[y]))
		m.Flagged[v] = posterior > 0.5
		m.Scores[v] = float64((1-tiedByValue)*posterior) + float64(tiedByValue*(1-float64(row[y])))
	})
}

// A betaMixture says which losses are high.
type betaMixture struct {
	low, span float64 // of the losses that are scaled to [0,1]; span 0: nothing can be told apart
	of        [2]betaComponent
	high      int     // the component with the larger mean
	greatest  float64 // the scaled loss with the greatest posterior
}

// A betaComponent is a weighted beta distribution.
type betaComponent struct{ a, b, weight float64 }

// logDensity is the logarithm of its weighted density at 0 < x < 1.
func (c betaComponent) logDensity(x float64) float64 {
	all, _ := math.Lgamma(c.a + c.b)
	one, _ := math.Lgamma(c.a)
	other, _ := math.Lgamma(c.b)
	return elementary.Log(c.weight) + all - one - other + float64((c.a-1)*elementary.Log(x)) + float64((c.b-1)*elementary.Log(1-x))
}

func (c betaComponent) mean() float64 { return c.a / (c.a + c.b) }

// moments are what a component has of some values: the sum of its posteriors, and by them mean and variance.
type moments struct{ weight, mean, variance float64 }

// expect is a step of expectation: the moments of both components. The variance of no weight is NaN.
func expect(x []float64, of [2]betaComponent) (parts [2]moments) {
	var weight, first, second [2]float64
	for _, x := range x {
		share := elementary.Sigmoid(of[1].logDensity(x) - of[0].logDensity(x))
		for k, r := range [2]float64{1 - share, share} {
			weight[k] += r
			first[k] += float64(r * x)
			second[k] += float64(r * x * x)
		}
	}
	for k := range parts {
		mean := first[k] / weight[k]
		parts[k] = moments{weight[k], mean, second[k]/weight[k] - float64(mean*mean)}
	}
	return parts
}

// betaOf is the component with the mean and the variance of what it has of some values.
func betaOf(of moments, values int) betaComponent {
	mean := of.mean
	a := mean * (mean*(1-mean)/max(of.variance, leastVariance) - 1)
	return betaComponent{a, a * (1 - mean) / mean, of.weight / float64(values)}
}

// fitBetas fits the mixture to losses, which it overwrites.
func fitBetas(losses []float64) *betaMixture {
	m := &betaMixture{of: [2]betaComponent{{1, 2, 0.5}, {2, 1, 0.5}}}
	if len(losses) == 0 {
		return m
	}
	slices.Sort(losses) // so that the sums do not depend on the order of the nodes
	m.low = percentile(losses, mixtureTail)
	high := percentile(losses, 1-mixtureTail)
	m.span = high - m.low
	if m.span <= 0 {
		m.span = 0
		return m
	}
	x := losses[:0]
	for _, loss := range losses {
		if loss >= m.low && loss <= high {
			x = append(x, m.scale(loss))
		}
	}
	for range mixtureSteps {
		for k, part := range expect(x, m.of) {
			if part.weight > 0 {
				m.of[k] = betaOf(part, len(x))
			}
		}
	}
	if m.of[0].mean() > m.of[1].mean() {
		m.high = 0
	} else {
		m.high = 1
	}
	most := math.Inf(-1)
	for i := range mixturePoints {
		at := mixtureEdge + (1-2*mixtureEdge)*float64(i)/(mixturePoints-1)
		if p := m.at(at); p > most {
			most, m.greatest = p, at
		}
	}
	return m
}

// percentile is the value below which a share of sorted values lie, interpolated between neighbours.
func percentile(values []float64, share float64) float64 {
	at := float64(share * float64(len(values)-1))
	i := int(at)
	if i+1 == len(values) {
		return values[i]
	}
	return values[i] + float64((at-float64(i))*(values[i+1]-values[i]))
}

// scale brings a loss into the open interval from 0 to 1.
func (m *betaMixture) scale(loss float64) float64 {
	return min(max((loss-m.low)/m.span, mixtureEdge), 1-mixtureEdge)
}

// shareOf1 is the posterior of component 1 at a loss that scale returned.
func (m *betaMixture) shareOf1(x float64) float64 {
	return elementary.Sigmoid(m.of[1].logDensity(x) - m.of[0].logDensity(x))
}

// at is the posterior of the component of high losses at a scaled loss.
func (m *betaMixture) at(x float64) float64 {
	if m.high == 0 {
		return 1 - m.shareOf1(x)
	}
	return m.shareOf1(x)
}

// posterior is the chance that a loss is of the component of high losses.
func (m *betaMixture) posterior(loss float64) float64 {
	if m.span == 0 {
		return 0
	}
	return m.at(min(m.scale(loss), m.greatest))
}
