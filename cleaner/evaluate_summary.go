package cleaner

import (
	"math"
	"slices"
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

// meanAndDeviation are the mean of some metrics, and their standard deviation as that of a sample; 0 for one, and for
// none. What is undefined of one is left out.
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
