package cleaner

import (
	"context"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A density is a weighted component of a mixture of two. A label that is wrong is taken to be of the one with larger
// values.
type density interface{ logDensity(x float64) float64 }

// moments are what a component has of some values: the sum of its posteriors, and by them mean and variance.
type moments struct{ weight, mean, variance float64 }

// expect is a step of expectation in a mixture of two components: the moments of both, and the mean logarithm of the
// density. The variance of no weight is NaN.
func expect[D density](x []float64, of [2]D) (parts [2]moments, likelihood float64) {
	var weight, first, second [2]float64
	for _, x := range x {
		low, high := of[0].logDensity(x), of[1].logDensity(x)
		share := elementary.Sigmoid(high - low)
		likelihood += max(low, high) + elementary.Log(1+elementary.Exp(-math.Abs(high-low)))
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
	return parts, likelihood / float64(len(x))
}

// How a mixture of Gaussians is fitted, as GaussianMixture of scikit-learn does it where nothing else is asked for.
const (
	gaussianSteps = 100
	gaussianGain  = 1e-3 // of the mean logarithm of the density: less ends the fit
	gaussianLeast = 1e-6 // variance, of that of all values
)

// A gaussian is a weighted normal distribution.
type gaussian struct{ mean, variance, weight float64 }

// logDensity is the logarithm of its weighted density.
func (g gaussian) logDensity(x float64) float64 {
	d := x - g.mean
	return elementary.Log(g.weight) - float64((elementary.Log(2*math.Pi*g.variance)+float64(d*d)/g.variance)/2)
}

// A gaussianMixture is two of them, that of the larger mean second, of values that are brought from 0 to 1.
type gaussianMixture struct {
	low, span float64 // of the values; span 0: nothing can be told apart
	of        [2]gaussian
}

// fitGaussians fits a mixture of two Gaussians to values, which it overwrites, by expectation maximization from the two
// means that are best in the least squares.
func fitGaussians(ctx context.Context, values []float64) (*gaussianMixture, error) {
	m := new(gaussianMixture)
	if len(values) == 0 {
		return m, nil
	}
	slices.Sort(values) // so that the sums do not depend on the order of the nodes
	m.low, m.span = values[0], values[len(values)-1]-values[0]
	if m.span == 0 {
		return m, nil
	}
	for i, x := range values {
		values[i] = m.scale(x)
	}
	least := gaussianLeast * momentsOf(values).variance
	begin := twoMeans(values)
	for k, part := range [2][]float64{values[:begin], values[begin:]} {
		m.of[k] = gaussianOf(momentsOf(part), least, len(values))
	}
	before := math.Inf(-1)
	for range gaussianSteps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		parts, likelihood := expect(values, m.of)
		if likelihood-before < gaussianGain || min(parts[0].weight, parts[1].weight) == 0 {
			break
		}
		before = likelihood
		for k := range m.of {
			m.of[k] = gaussianOf(parts[k], least, len(values))
		}
	}
	if m.of[0].mean > m.of[1].mean {
		m.of[0], m.of[1] = m.of[1], m.of[0]
	}
	return m, nil
}

// gaussianOf is the component of so many values that has some moments, and some variance more.
func gaussianOf(of moments, least float64, values int) gaussian {
	return gaussian{of.mean, max(of.variance, 0) + float64(least), of.weight / float64(values)}
}

// momentsOf are those of all values in one component.
func momentsOf(values []float64) moments {
	var first, second float64
	for _, x := range values {
		first += x
		second += float64(x * x)
	}
	n := float64(len(values))
	mean := first / n
	return moments{n, mean, second/n - float64(mean*mean)}
}

// twoMeans is where sorted values, not all the same, are best cut in two by the least squares: the first place of the
// upper part.
func twoMeans(values []float64) (begin int) {
	var all, below float64
	for _, x := range values {
		all += x
	}
	most := math.Inf(-1)
	for i, x := range values[:len(values)-1] {
		below += x
		// The squares are least where those of the sums, over how many they are of, are most.
		low, high := float64(i+1), float64(len(values)-i-1)
		if between := below*below/low + (all-below)*(all-below)/high; between > most {
			most, begin = between, i+1
		}
	}
	return begin
}

// scale brings a value from 0 to 1.
func (m *gaussianMixture) scale(x float64) float64 { return (x - m.low) / m.span }

// posterior is the chance that a value is of the component of the larger mean. Beyond the two means it is that at the
// nearer one: it does not fall as the value grows.
func (m *gaussianMixture) posterior(x float64) float64 {
	if m.span == 0 {
		return 0
	}
	x = min(max(m.scale(x), m.of[0].mean), m.of[1].mean)
	return elementary.Sigmoid(m.of[1].logDensity(x) - m.of[0].logDensity(x))
}

// byMixture judges the labelled nodes by values [n] of which high ones are suspect: flagged are those with a posterior
// above 0.5 of the component of the larger mean. The score is that posterior; equal ones are in the order of the values.
func (t trial) byMixture(ctx context.Context, values []float64) (*judgement, error) {
	of := make([]float64, 0, countLabelled(t.labels))
	for v, y := range t.labels {
		if y != kv.NoClass {
			of = append(of, values[v])
		}
	}
	m, err := fitGaussians(ctx, of)
	if err != nil {
		return nil, err
	}
	result := newJudgement(len(t.labels))
	for v, y := range t.labels {
		if y == kv.NoClass || m.span == 0 {
			continue
		}
		posterior := m.posterior(values[v])
		result.flagged[v] = posterior > 0.5
		result.scores[v] = float64((1-tiedByValue)*posterior) + float64(tiedByValue*m.scale(values[v]))
	}
	return result, nil
}
