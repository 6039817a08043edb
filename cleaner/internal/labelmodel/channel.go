package labelmodel

import (
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
)

// The prior of every class: it has priorLabels labels, of which priorWrong are wrong, spread evenly over the other
// classes.
const (
	priorLabels = 30
	priorWrong  = 2

	startRate      = 0.1 // share of wrong labels that a fit begins with
	leastFlipCount = 1e-3
)

// A channel is how given labels follow from true classes k: r[k][i] is the chance that a node of class k is given i ≠
// k, and right[k] is 1 − Σ_i r[k][i]. With the expected counts of wrong labels V and of right ones N, of c classes,
//
//	r[k][i] = (V[k][i] + priorWrong/(c−1)) / (Σ_i V[k][i] + N[k] + priorLabels)
//
// the mean of a Dirichlet distribution. Where the pairs are alike, all V and N are those of the mean class and the mean
// pair.
type channel struct {
	rates *lines    // r: a line a given class, an entry a true one
	right []float64 // [c]
}

// newChannel turns counts of wrong labels into rates, in place. A line is a given class, an entry a true one.
func newChannel(counts *lines, right []float64, alike bool) *channel {
	c := len(right)
	others := float64(max(c-1, 1))
	w := &channel{rates: counts, right: make([]float64, c)}
	wrong := make([]float64, c)
	for i, line := range counts.held {
		for k, count := range line {
			if k != i {
				wrong[k] += count
			}
		}
	}
	if alike {
		var all, of float64
		for k, count := range wrong {
			all, of = all+count, of+count+right[k]
		}
		return evenChannel(counts, (all+priorWrong)/(of+priorLabels))
	}
	each := make([]float64, c) // labels of a class
	for k := range each {
		each[k] = wrong[k] + right[k] + priorLabels
		w.right[k] = (right[k] + (priorLabels - priorWrong)) / each[k]
	}
	for i, line := range counts.held {
		for k, count := range line {
			if line[k] = 0; k != i {
				line[k] = (count + priorWrong/others) / each[k]
			}
		}
	}
	for k, all := range each {
		counts.other[k] = priorWrong / others / all
	}
	return w
}

// evenChannel has one rate of wrong labels, which go to all other classes alike; its lines are those of rates.
func evenChannel(rates *lines, rate float64) *channel {
	c := len(rates.other)
	w := &channel{rates: rates, right: slices.Repeat([]float64{1 - rate}, c)}
	for _, line := range append(rates.held, rates.other) {
		for k := range line {
			line[k] = rate / float64(max(c-1, 1))
		}
	}
	return w
}

// of is the chance that a node of class k is given i.
func (w *channel) of(i, k int) float64 {
	if i == k {
		return w.right[k]
	}
	return w.rates.of(i)[k]
}

// flipsOf are the counts of wrong labels that are kept, by true class and given one.
func flipsOf(counts *lines) (cells []classmatrix.Cell) {
	for i, line := range counts.held {
		for k, count := range line {
			if k != i && count >= leastFlipCount {
				cells = append(cells, classmatrix.Cell{Row: k, Column: i, Value: count})
			}
		}
	}
	slices.SortFunc(cells, classmatrix.Compare)
	return slices.Clip(cells)
}
