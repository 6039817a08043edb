package figure

import (
	"fmt"
	"math"
	"slices"
)

// A Histogram counts any number of scores in the same few bytes. Its axis is that of probabilities, until a score lies beyond it.
type Histogram struct {
	axis
	nodes [histogramBins]int64
}

const histogramBins = 40 // an even number: see widen

// NewHistogram returns one that has counted nothing.
func NewHistogram() *Histogram { return &Histogram{axis: unitAxis} }

// Add counts nodes that have a score. NaN counts as 0. An infinite score stands at the end of the axis.
func (h *Histogram) Add(score float64, nodes int64) {
	if math.IsNaN(score) {
		score = 0
	}
	if !math.IsInf(score, 0) {
		h.widen(score)
	}
	h.nodes[min(int(h.at(score)*histogramBins), histogramBins-1)] += nodes
}

// widen doubles the axis, two bins becoming one, until it has the score, or no number is beyond it.
func (h *Histogram) widen(score float64) {
	for score < h.least || score > h.most {
		width, up := h.most-h.least, score > h.most
		wider := axis{least: h.least - width, most: h.most}
		if up {
			wider = axis{least: h.least, most: h.most + width}
		}
		if math.IsInf(wider.most-wider.least, 0) {
			return
		}
		h.axis = wider
		h.nodes = halve(h.nodes, up)
	}
}

// halve adds up two bins to one, for the first half of the bins or the second.
func halve(bins [histogramBins]int64, first bool) (sums [histogramBins]int64) {
	at := histogramBins / 2
	if first {
		at = 0
	}
	for i, count := range bins {
		sums[at+i/2] += count
	}
	return sums
}

// Chart draws the scores of the labelled nodes with a line at the threshold; NaN is none. Counts are on a log scale: most scores are of correct labels, far
// from the suspects.
func (h *Histogram) Chart(threshold float64) string {
	counts := axis{least: 0.5, most: max(10, float64(slices.Max(h.nodes[:]))), log: true}
	c := newChart("Scores of the labelled nodes", "score", "nodes, log scale", h.axis, counts)
	width := (h.most - h.least) / histogramBins
	for i, nodes := range h.nodes {
		x := h.least + width*float64(i)
		if nodes > 0 {
			c.bar(x, x+width, float64(nodes), Blue, fmt.Sprintf("score %.3g to %.3g: %d nodes", x, x+width, nodes))
		}
	}
	c.legend(Blue, "nodes", false)
	if !math.IsNaN(threshold) {
		c.parts.Threshold = c.left(threshold)
		c.legend(Vermillion, fmt.Sprintf("threshold %.4g", threshold), true)
	}
	return render("chart", &c.parts)
}
