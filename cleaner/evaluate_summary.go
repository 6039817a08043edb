package cleaner

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// summarize fills Mean and Std from Repeats.
func (r *MethodResult) summarize() {
	r.Mean, r.Std = meanAndDeviation(r.Repeats)
}

// meanAndDeviation are the mean of some metrics, and their standard deviation as that of a sample; 0 for one.
func meanAndDeviation(some []Metrics) (mean, deviation Metrics) {
	means, deviations := mean.fields(), deviation.fields()
	n := float64(len(some))
	for f := range means {
		for i := range some {
			*means[f] += *some[i].fields()[f] / n
		}
		for i := range some {
			d := *some[i].fields()[f] - *means[f]
			*deviations[f] += d * d / max(n-1, 1)
		}
		*deviations[f] = math.Sqrt(*deviations[f])
	}
	return mean, deviation
}

// pairedTest compares two methods over the same repeats, as MethodResult.P has it; nil where there is one pair. With d
// the n differences of a metric,
//
//	t = mean(d) / (std(d)/√n),  p = 2·P(T > |t|),  T of Student's t distribution with n−1 degrees of freedom
//
// Differences that are all the same have p 1 where they are zero, and 0 else.
func pairedTest(repeats, first []Metrics, modelSeeds int) *Metrics {
	pairs := make([]Metrics, len(repeats)) // differences
	for i := range repeats {
		difference, one := pairs[i].fields(), repeats[i].fields()
		for f, other := range first[i].fields() {
			*difference[f] = *one[f] - *other
		}
	}
	if len(pairs) > modelSeeds {
		var draws []Metrics
		for at := 0; at < len(pairs); at += modelSeeds {
			mean, _ := meanAndDeviation(pairs[at : at+modelSeeds])
			draws = append(draws, mean)
		}
		pairs = draws
	}
	n := float64(len(pairs))
	if n < 2 {
		return nil
	}
	student := distuv.StudentsT{Sigma: 1, Nu: n - 1}
	var p Metrics
	mean, deviation := meanAndDeviation(pairs)
	means, deviations := mean.fields(), deviation.fields()
	for f, value := range p.fields() {
		switch {
		case *deviations[f] > 0:
			*value = 2 * student.CDF(-math.Abs(*means[f])/(*deviations[f]/math.Sqrt(n)))
		case *means[f] == 0:
			*value = 1
		}
	}
	return &p
}
