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
	tiedByValue     = 1e-9 // weight of 1−prediction in the score: it orders nodes with equal posteriors
	leastPrediction = 1e-12
)

// dynamicBootstrap is the detector of DYB (Arazo, Ortego, Albert, O'Connor, McGuinness: "Unsupervised Label Noise
// Modeling and Loss Correction", arXiv:1904.11238): the cross-entropies −log P[v][ỹ] of the nodes, scaled to [0,1]
// between their 5th and 95th percentile, are taken for a mixture of two beta distributions, fitted by expectation
// maximization with moments, and a node is flagged where the posterior of the component with the larger mean exceeds
// 0.5. Above the loss where the posterior peaks, it stays at the peak. The score is that posterior; equal ones are in
// the order of the losses.
//
// Where all losses between the percentiles are the same there is nothing to tell apart, and no node is flagged.
func dynamicBootstrap(ctx context.Context, t *trial, m *Measurement) error {
	lossOf := func(p float32) float64 { return -elementary.Log(max(float64(p), leastPrediction)) }
	var losses []float64
	err := t.each(ctx, func(_ kv.NodeID, y kv.Class, row []float32) { losses = append(losses, lossOf(row[y])) })
	if err != nil {
		return err
	}
	posteriorOf := fitBetas(losses)
	return t.each(ctx, func(v kv.NodeID, y kv.Class, row []float32) {
		posterior := posteriorOf(lossOf(row[y]))
		m.Flagged[v] = posterior > 0.5
		m.Scores[v] = float64((1-tiedByValue)*posterior) + float64(tiedByValue*(1-float64(row[y])))
	})
}

// A betaComponent is a weighted beta distribution.
type betaComponent struct{ a, b, weight float64 }

// logDensity is the logarithm of its weighted density at 0 < x < 1.
func (c betaComponent) logDensity(x float64) float64 {
	all, _ := math.Lgamma(c.a + c.b)
	one, _ := math.Lgamma(c.a)
	other, _ := math.Lgamma(c.b)
	return elementary.Log(c.weight) + all - one - other + float64((c.a-1)*elementary.Log(x)) +
		float64((c.b-1)*elementary.Log(1-x))
}

func (c betaComponent) mean() float64 { return c.a / (c.a + c.b) }

// fitBetas fits the mixture to losses, which it overwrites. It returns the posterior of high losses by the loss.
func fitBetas(losses []float64) func(loss float64) float64 {
	if len(losses) == 0 {
		return nil
	}
	slices.Sort(losses) // so that the sums do not depend on the order of the nodes
	low, high := percentile(losses, mixtureTail), percentile(losses, 1-mixtureTail)
	if high <= low {
		return func(float64) float64 { return 0 }
	}
	scale := func(loss float64) float64 { return min(max((loss-low)/(high-low), mixtureEdge), 1-mixtureEdge) }
	x := losses[:0]
	for _, loss := range losses {
		if loss >= low && loss <= high {
			x = append(x, scale(loss))
		}
	}
	mixture := [2]betaComponent{{1, 2, 0.5}, {2, 1, 0.5}}
	share := func(x float64) float64 {
		return elementary.Sigmoid(mixture[1].logDensity(x) - mixture[0].logDensity(x))
	}
	for range mixtureSteps {
		var weight, first, second [2]float64
		for _, x := range x {
			share := share(x)
			for k, r := range [2]float64{1 - share, share} {
				weight[k] += r
				first[k] += float64(r * x)
				second[k] += float64(r * x * x)
			}
		}
		for k, w := range weight {
			if w > 0 {
				mean := first[k] / w
				variance := second[k]/w - float64(mean*mean)
				a := mean * (mean*(1-mean)/max(variance, leastVariance) - 1)
				mixture[k] = betaComponent{a, a * (1 - mean) / mean, w / float64(len(x))}
			}
		}
	}
	posterior := share
	if mixture[0].mean() > mixture[1].mean() {
		posterior = func(x float64) float64 { return 1 - share(x) }
	}
	most, greatest := math.Inf(-1), 0.0
	for i := range mixturePoints {
		at := mixtureEdge + (1-2*mixtureEdge)*float64(i)/(mixturePoints-1)
		if p := posterior(at); p > most {
			most, greatest = p, at
		}
	}
	return func(loss float64) float64 { return posterior(min(scale(loss), greatest)) }
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
