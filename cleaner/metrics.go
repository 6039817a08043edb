package cleaner

import (
	"cmp"
	"math"
	"slices"
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

// parts are the metrics of the test nodes, and those of the sets in the order of their declaration.
func (m *MethodMetrics) parts() []*Metrics {
	return []*Metrics{&m.Metrics, &m.BySplit.Train, &m.BySplit.Validation, &m.BySplit.Test, &m.BySplit.All}
}

// fields are the metrics in the order of their declaration, for means over repeats.
func (m *Metrics) fields() []*float64 {
	return []*float64{
		&m.F1, &m.MCC, &m.PAtT, &m.PAtTFlagged, &m.Precision, &m.Recall, &m.AveragePrecision,
		&m.Flagged, &m.Mislabelled, &m.ECE, &m.EstimatedRate, &m.TrueRate,
		&m.FoundAt.Percent1, &m.FoundAt.Percent5, &m.FoundAt.Percent10,
	}
}

// undefinedFields are those of the fields that are shares of nothing.
func (m *Metrics) undefinedFields() (none []*float64) {
	if m.Flagged == 0 {
		none = append(none, &m.Precision)
	}
	if m.Mislabelled == 0 {
		none = append(none, &m.PAtT, &m.PAtTFlagged, &m.Recall, &m.AveragePrecision, &m.MCC,
			&m.FoundAt.Percent1, &m.FoundAt.Percent5, &m.FoundAt.Percent10)
	}
	if m.Flagged == 0 && m.Mislabelled == 0 {
		none = append(none, &m.F1)
	}
	return none
}

// measureScores computes the Metrics of nodes in file order.
func measureScores(scores []float64, flagged, mislabelled []bool) Metrics {
	var both, flags, wrong float64
	for i := range scores {
		if flagged[i] {
			flags++
		}
		if mislabelled[i] {
			wrong++
		}
		if flagged[i] && mislabelled[i] {
			both++
		}
	}
	n := float64(len(scores))
	m := Metrics{Flagged: flags, Mislabelled: wrong, Precision: share(both, flags), Recall: share(both, wrong)}
	m.F1 = share(2*both, flags+wrong)
	m.MCC = share(float64(both*n)-float64(flags*wrong), math.Sqrt(flags*(n-flags)*wrong*(n-wrong)))

	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	hits := func(count int, counts func(i int) bool) (hits float64) {
		for _, i := range order[:count] {
			if counts(i) {
				hits++
			}
		}
		return hits
	}
	top := func(count int, counts func(i int) bool) float64 {
		count = min(count, len(order))
		return share(hits(count, counts), float64(count))
	}
	isWrong := func(i int) bool { return mislabelled[i] }
	m.PAtT = top(int(wrong), isWrong)
	m.PAtTFlagged = top(int(wrong), func(i int) bool { return mislabelled[i] && flagged[i] })
	hitShare := func(percent int) float64 { return share(hits((percent*len(order)+99)/100, isWrong), wrong) }
	m.FoundAt = FoundAt{Percent1: hitShare(1), Percent5: hitShare(5), Percent10: hitShare(10)}
	m.AveragePrecision = averagePrecision(scores, mislabelled, order, wrong)
	m.ECE = calibrationError(scores, mislabelled)
	return m
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
