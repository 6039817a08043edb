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
func newChannel(counts *lines, right []float64, alike bool) channel {
	c := counts.classes
	others := float64(max(c-1, 1))
	w := channel{rates: counts, right: make([]float64, c)}
	wrong := make([]float64, c)
	for _, i := range counts.numbers {
		line := counts.of(i)
		line[i] = 0
		for k, count := range line {
			wrong[k] += count
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
	for _, i := range counts.numbers {
		line := counts.of(i)
		for k, count := range line {
			if k != i {
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
func evenChannel(rates *lines, rate float64) channel {
	w := channel{rates: rates, right: slices.Repeat([]float64{1 - rate}, rates.classes)}
	rate /= float64(max(rates.classes-1, 1))
	for i := range rates.values {
		rates.values[i] = rate
	}
	for i := range rates.other {
		rates.other[i] = rate
	}
	return w
}

// of is the chance that a node of class k is given i.
func (w *channel) of(i, k int) float64 {
	if i == k {
		return w.right[k]
	}
	return w.rates.at(i, k)
}

// flipsOf are the counts of wrong labels that are kept, by true class and given one.
func flipsOf(counts *lines) []classmatrix.Cell {
	cells := slices.DeleteFunc(counts.cells(leastFlipCount),
		func(cell classmatrix.Cell) bool { return cell.Row == cell.Column })
	for i, cell := range cells {
		cells[i].Row, cells[i].Column = cell.Column, cell.Row
	}
	slices.SortFunc(cells, classmatrix.Compare)
	return cells
}
