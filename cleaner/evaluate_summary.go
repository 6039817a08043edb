package cleaner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// summarize fills Mean and Std from Repeats.
func (r *MethodResult) summarize() {
	means, deviations := r.Mean.parts(), r.Std.parts()
	for part := range means {
		*means[part], *deviations[part] = meanAndDeviation(partOf(r.Repeats, part))
	}
}

// partOf are the metrics of one of MethodMetrics.parts.
func partOf(some []MethodMetrics, part int) (metrics []Metrics) {
	for i := range some {
		metrics = append(metrics, *some[i].parts()[part])
	}
	return metrics
}

// meanAndDeviation are the mean of some metrics, and their standard deviation as that of a sample; 0 for one, and for none.
// What is undefined of one is left out.
func meanAndDeviation(some []Metrics) (mean, deviation Metrics) {
	means, deviations := mean.fields(), deviation.fields()
	for f := range means {
		*means[f], *deviations[f] = meanOf(valuesOf(some, f))
	}
	return mean, deviation
}

// valuesOf are the values of a field of some metrics that are defined.
func valuesOf(some []Metrics, f int) (values []float64) {
	for i := range some {
		if value := some[i].fields()[f]; !slices.Contains(some[i].undefinedFields(), value) {
			values = append(values, *value)
		}
	}
	return values
}

// meanOf is the mean of values and their standard deviation as that of a sample.
func meanOf(values []float64) (mean, deviation float64) {
	n := float64(len(values))
	for _, value := range values {
		mean += value / n
	}
	for _, value := range values {
		d := value - mean
		deviation += d * d / max(n-1, 1)
	}
	return mean, math.Sqrt(deviation)
}

// pairedTest compares two methods over the same repeats, as MethodResult.P has it; nil if there is one pair. With d
// the n differences of a metric, of the pairs where both have it,
//
//	t = mean(d) / (std(d)/√n),  p = 2·P(T > |t|),  T of Student's t distribution with n−1 degrees of freedom
//
// Differences that are all the same have p 1 if they are zero, and 0 else; fewer than two have p 1.
func pairedTest(repeats, first []Metrics) *Metrics {
	if len(repeats) < 2 {
		return nil
	}
	var p Metrics
	for f, value := range p.fields() {
		*value = pairedP(repeats, first, f)
	}
	return &p
}

// pairedP is the p value of a field.
func pairedP(repeats, first []Metrics, f int) float64 {
	var differences []float64
	for i := range repeats {
		ours, theirs := valuesOf(repeats[i:i+1], f), valuesOf(first[i:i+1], f)
		if len(ours) > 0 && len(theirs) > 0 {
			differences = append(differences, ours[0]-theirs[0])
		}
	}
	n := float64(len(differences))
	mean, deviation := meanOf(differences)
	switch {
	case n < 2 || deviation == 0 && mean == 0:
		return 1
	case deviation == 0:
		return 0
	}
	student := distuv.StudentsT{Sigma: 1, Nu: n - 1}
	return 2 * student.CDF(-math.Abs(mean)/(deviation/math.Sqrt(n)))
}
