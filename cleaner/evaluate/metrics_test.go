package evaluate

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// plainMetrics computes Metrics from their definitions, where those are not 0 of nothing, pair by pair.
func plainMetrics(scores []float64, flagged, wrong []bool) Metrics {
	var tp, fp, fn, tn float64
	for i := range scores {
		switch {
		case flagged[i] && wrong[i]:
			tp++
		case flagged[i]:
			fp++
		case wrong[i]:
			fn++
		default:
			tn++
		}
	}
	m := Metrics{
		Flagged: tp + fp, Mislabelled: tp +
			fn, Precision: tp / (tp + fp), Recall: tp / (tp + fn), F1: 2 * tp / (2*tp + fp + fn),
		MCC: (tp*tn - fp*fn) / math.Sqrt((tp+fp)*(tp+fn)*(tn+fp)*(tn+fn)),
	}
	// The precision down to a node counts all with its score or a higher one.
	for i := range scores {
		if !wrong[i] {
			continue
		}
		var hits, all float64
		for j := range scores {
			if scores[j] >= scores[i] {
				all++
				if wrong[j] {
					hits++
				}
			}
		}
		m.AveragePrecision += hits / all / m.Mislabelled
	}
	// The rank of a node: those with higher scores, and those before it with the same.
	top := func(count int, counts func(i int) bool) float64 {
		count = min(count, len(scores))
		var hits float64
		for i := range scores {
			rank := 0
			for j := range scores {
				if scores[j] > scores[i] || scores[j] == scores[i] && j < i {
					rank++
				}
			}
			if rank < count && counts(i) {
				hits++
			}
		}
		return hits / float64(count)
	}
	mislabelled := func(i int) bool { return wrong[i] }
	m.PAtT = top(int(m.Mislabelled), mislabelled)
	m.PAtTFlagged = top(int(m.Mislabelled), func(i int) bool { return wrong[i] && flagged[i] })
	n := float64(len(scores))
	found := func(share float64) float64 {
		reviewed := math.Ceil(share*n - 1e-9)
		return top(int(reviewed), mislabelled) * reviewed / m.Mislabelled
	}
	m.FoundAt = FoundAt{Percent1: found(0.01), Percent5: found(0.05), Percent10: found(0.1)}
	for bin := range 10 {
		var count, sum, hits float64
		for i, score := range scores {
			if lo := float64(bin) / 10; score < lo || score >= lo+0.1 && bin < 9 {
				continue
			}
			count++
			sum += score
			if wrong[i] {
				hits++
			}
		}
		if count > 0 {
			m.ECE += count / n * math.Abs(sum/count-hits/count)
		}
	}
	return m
}

func sameMetrics(t *testing.T, what string, got, want Metrics) {
	t.Helper()
	for f, figure := range got.figures() {
		if wanted := *want.figures()[f].value; !(math.Abs(*figure.value-wanted) <= 1e-12) {
			t.Errorf("%s: got %+v, want %+v", what, got, want)
			return
		}
	}
}

func TestMetricsAreTheirDefinitions(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := 2 + r.IntN(320)
		scores, flagged, wrong := make([]float64, n), make([]bool, n), make([]bool, n)
		for i := range n {
			scores[i] = (float64(r.IntN(1+r.IntN(20))) + 0.5) / 20 // with ties, off the edges of bins
			flagged[i], wrong[i] = r.IntN(3) == 0, r.IntN(4) == 0
		}
		flagged[0], flagged[1], wrong[0], wrong[1] = true, false, seed%2 == 0, seed%2 == 1
		sameMetrics(t, "random scores", measureScores(scores, flagged, wrong), plainMetrics(scores, flagged, wrong))
	}
}

// TestMetricsHaveMeans keeps figures in step with the struct: a metric left out would have no mean.
func TestMetricsHaveMeans(t *testing.T) {
	if got, want := len(new(Metrics).figures()), reflect.TypeFor[Metrics]().NumField()-1+
		reflect.TypeFor[FoundAt]().NumField(); got != want {
		t.Errorf("got %d figures, want %d", got, want)
	}
}

func TestSummarize(t *testing.T) {
	of := func(some ...Metrics) (mean, deviation Metrics) {
		var repeats []MethodMetrics
		for _, m := range some {
			repeats = append(repeats, MethodMetrics{BySplit: MetricsBySplit{Test: m, Train: Metrics{ECE: m.F1}}})
		}
		means, deviations := summarize(repeats)
		if means.BySplit.Train.ECE != means.F1 || means.Metrics != means.BySplit.Test {
			t.Errorf("got %+v, want the means of each split, and those of the test nodes", means)
		}
		return means.Metrics, deviations.Metrics
	}
	mean, deviation := of(Metrics{F1: 0.5, Flagged: 1}, Metrics{F1: 0.7, Flagged: 1}, Metrics{F1: 0.9, Flagged: 4})
	sameMetrics(t, "mean of three repeats", mean, Metrics{F1: 0.7, Flagged: 2})
	sameMetrics(t, "deviation of three repeats", deviation, Metrics{F1: 0.2, Flagged: math.Sqrt(3)})
	mean, deviation = of(Metrics{F1: 0.5, MCC: -1, Mislabelled: 2})
	sameMetrics(t, "mean of one repeat", mean, Metrics{F1: 0.5, MCC: -1, Mislabelled: 2})
	sameMetrics(t, "deviation of one repeat", deviation, Metrics{})
	// Shares of nothing are no zeros in a mean: of no flags there is no precision, of no mislabels no recall.
	whole := Metrics{F1: 1, MCC: 1, Precision: 1, Recall: 1, PAtT: 1, AveragePrecision: 1, PAtTFlagged: 1,
		FoundAt: FoundAt{1, 1, 1}}
	whole.Flagged, whole.Mislabelled = 3, 3
	mean, _ = of(whole, Metrics{Mislabelled: 3}, Metrics{Flagged: 3})
	sameMetrics(t, "mean with shares of nothing", mean, Metrics{
		F1: 1. / 3, MCC: .5, Precision: .5, Recall: .5, PAtT: .5, AveragePrecision: .5, PAtTFlagged: .5, Flagged: 2,
		Mislabelled: 2, FoundAt: FoundAt{.5, .5, .5},
	})
}
