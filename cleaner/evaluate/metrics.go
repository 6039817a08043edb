package evaluate

import (
	"cmp"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
)

// Metrics measure how well scores and flags find the mislabelled among N nodes, of which T are mislabelled. A share
// with denominator zero is 0. Means over repeats leave it out.
type Metrics struct {
	// F1 is 2·Precision·Recall / (Precision+Recall), of the flagged nodes.
	F1 float64 `json:"f1"`

	// MCC is Matthews' correlation of flagged and mislabelled, in [−1,1]; 0 if all or none are flagged or
	// mislabelled.
	MCC float64 `json:"mcc"`

	// PAtT is the share of mislabelled nodes among the T with the highest scores, ties in file order.
	PAtT float64 `json:"p_at_t"`

	// PAtTFlagged counts, of those T, only the flagged.
	PAtTFlagged float64 `json:"p_at_t_flagged"`

	Precision float64 `json:"precision"` // mislabelled among the flagged
	Recall    float64 `json:"recall"`    // flagged among the mislabelled

	// AveragePrecision is the mean, over the mislabelled nodes, of the precision down to each of them in order of
	// score; equal scores count as one step.
	AveragePrecision float64 `json:"average_precision"`

	Flagged     float64 `json:"flagged"`     // nodes
	Mislabelled float64 `json:"mislabelled"` // T

	// ECE is the expected calibration error of the scores as chances to be mislabelled (Guo et al., arXiv:1706.04599):
	// the mean, over the nodes, of |mean score − share of mislabelled| of their bin, of ten of equal width. It says
	// nothing of a score that is no probability.
	ECE float64 `json:"ece"`

	// EstimatedRate is the method's estimate of the share of wrong labels among all labelled nodes, 0 if it has none.
	// TrueRate is the true share.
	EstimatedRate float64 `json:"estimated_rate"`
	TrueRate      float64 `json:"true_rate"`

	FoundAt FoundAt `json:"found_at"`
}

// FoundAt is the share of the T mislabelled nodes that a reviewer finds in the first 1, 5 and 10% (rounded up) of the N
// nodes by score; ties in file order.
type FoundAt struct {
	Percent1  float64 `json:"1"`
	Percent5  float64 `json:"5"`
	Percent10 float64 `json:"10"`
}

// MethodMetrics are the Metrics over the labelled nodes of the test split, and over those of each set.
type MethodMetrics struct {
	Metrics
	BySplit MetricsBySplit `json:"by_split"`
}

// MetricsBySplit are the Metrics of the labelled nodes of each split, and of all labelled nodes, also those of no
// split. Rates are of all labelled nodes in each.
type MetricsBySplit struct {
	Train      Metrics `json:"train"`
	Validation Metrics `json:"val"`
	Test       Metrics `json:"test"`
	All        Metrics `json:"all"`
}

// sets are the metrics of the sets, in the order of their declaration.
func (m *MetricsBySplit) sets() []*Metrics {
	return []*Metrics{&m.Train, &m.Validation, &m.Test, &m.All}
}

// figures are the metrics in the order of their declaration. A share of nothing is not defined.
func (m *Metrics) figures() []figure {
	flagged, wrong := m.Flagged > 0, m.Mislabelled > 0
	return []figure{
		{&m.F1, flagged || wrong}, {&m.MCC, wrong}, {&m.PAtT, wrong}, {&m.PAtTFlagged, wrong}, {&m.Precision, flagged},
		{&m.Recall, wrong}, {&m.AveragePrecision, wrong}, {&m.Flagged, true}, {&m.Mislabelled, true}, {&m.ECE, true},
		{&m.EstimatedRate, true}, {&m.TrueRate, true},
		{&m.FoundAt.Percent1, wrong}, {&m.FoundAt.Percent5, wrong}, {&m.FoundAt.Percent10, wrong},
	}
}

// A figure is one of the metrics.
type figure struct {
	value     *float64
	isDefined bool
}

// summarize are the means of all figures over repeats, and their standard deviations as those of a sample. What is not
// defined of a repeat is left out.
func summarize(repeats []MethodMetrics) (mean, deviation MethodMetrics) {
	for set, means := range mean.BySplit.sets() {
		deviations := deviation.BySplit.sets()[set].figures()
		for f, figure := range means.figures() {
			var values []float64
			for r := range repeats {
				if of := repeats[r].BySplit.sets()[set].figures()[f]; of.isDefined {
					values = append(values, *of.value)
				}
			}
			*figure.value, *deviations[f].value = meanAndDeviation(values)
		}
	}
	mean.Metrics, deviation.Metrics = mean.BySplit.Test, deviation.BySplit.Test
	return mean, deviation
}

func meanAndDeviation(values []float64) (mean, deviation float64) {
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

// metrics are those of a measurement.
func (t *trial) metrics(m *Measurement) MethodMetrics {
	of := func(within func(cleaner.Split) bool) Metrics {
		var scores []float64
		var flagged, wrong []bool
		for _, v := range t.nodes {
			if within(t.Splits[v]) {
				scores, flagged = append(scores, m.Scores[v]), append(flagged, m.Flagged[v])
				wrong = append(wrong, m.Truth[v] != m.Labels[v])
			}
		}
		metrics := measureScores(scores, flagged, wrong)
		if !math.IsNaN(m.MislabelRate) {
			metrics.EstimatedRate = m.MislabelRate
		}
		metrics.TrueRate = t.rate
		return metrics
	}
	ofSplit := func(split cleaner.Split) Metrics { return of(func(s cleaner.Split) bool { return s == split }) }
	test := ofSplit(cleaner.SplitTest)
	return MethodMetrics{Metrics: test, BySplit: MetricsBySplit{
		Train: ofSplit(cleaner.SplitTrain), Validation: ofSplit(cleaner.SplitValidation), Test: test,
		All: of(func(cleaner.Split) bool { return true }),
	}}
}

// measureScores computes the Metrics of nodes in file order.
func measureScores(scores []float64, flagged, mislabelled []bool) Metrics {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	count := func(of []int, counts func(i int) bool) (count float64) {
		for _, i := range of {
			if counts(i) {
				count++
			}
		}
		return count
	}
	isWrong := func(i int) bool { return mislabelled[i] }
	isFound := func(i int) bool { return mislabelled[i] && flagged[i] }
	flags := count(order, func(i int) bool { return flagged[i] })
	both, wrong, n := count(order, isFound), count(order, isWrong), float64(len(order))
	top := order[:int(wrong)]
	foundAt := func(percent int) float64 { return share(count(order[:(percent*len(order)+99)/100], isWrong), wrong) }
	return Metrics{
		F1:               share(2*both, flags+wrong),
		MCC:              share(float64(both*n)-float64(flags*wrong), math.Sqrt(flags*(n-flags)*wrong*(n-wrong))),
		PAtT:             share(count(top, isWrong), wrong),
		PAtTFlagged:      share(count(top, isFound), wrong),
		Precision:        share(both, flags),
		Recall:           share(both, wrong),
		AveragePrecision: averagePrecision(scores, mislabelled, order, wrong),
		Flagged:          flags,
		Mislabelled:      wrong,
		ECE:              calibrationError(scores, mislabelled),
		FoundAt:          FoundAt{Percent1: foundAt(1), Percent5: foundAt(5), Percent10: foundAt(10)},
	}
}

// calibrationBins is the number of bins of Metrics.ECE.
const calibrationBins = 10

// calibrationError computes Metrics.ECE. A score of NaN is taken for 0, as it ranks last.
func calibrationError(scores []float64, mislabelled []bool) (ece float64) {
	var sums, wrong [calibrationBins]float64
	for i, score := range scores {
		if math.IsNaN(score) {
			score = 0
		}
		bin := min(max(int(score*calibrationBins), 0), calibrationBins-1)
		sums[bin] += score
		if mislabelled[i] {
			wrong[bin]++
		}
	}
	for bin := range sums {
		ece += math.Abs(sums[bin] - wrong[bin])
	}
	return share(ece, float64(len(scores)))
}

// averagePrecision walks down order, one step for each run of equal scores.
func averagePrecision(scores []float64, mislabelled []bool, order []int, wrong float64) (sum float64) {
	if wrong == 0 || wrong == float64(len(order)) {
		return share(wrong, float64(len(order)))
	}
	var hits float64
	for first := 0; first < len(order); {
		stepHits := 0.0
		end := first
		for ; end < len(order) && cmp.Compare(scores[order[end]], scores[order[first]]) == 0; end++ {
			if mislabelled[order[end]] {
				stepHits++
			}
		}
		hits += stepHits
		sum += stepHits * hits / float64(end)
		first = end
	}
	return sum / wrong
}

// share is part/whole, 0 of nothing.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}
