package figure

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The places of the axes and the legend, in pixels, y downwards. The template has them too.
const (
	axesLeft, axesWidth   = 56.0, 412.0
	axesFoot, axesHeight  = 252.0, 240.0
	legendTop, legendLine = 300.0, 18.0
)

// A Histogram counts any number of scores from 0 to 1 in the same few bytes.
type Histogram struct{ nodes [histogramBins]int64 }

const histogramBins = 40

// Add counts nodes that have a score. NaN counts as 0.
func (h *Histogram) Add(score float64, nodes int64) {
	if math.IsNaN(score) {
		score = 0
	}
	h.nodes[min(int(share(score)*histogramBins), histogramBins-1)] += nodes
}

// A chart is filled into the template.
type chart struct {
	Title, XLabel, YLabel string
	XTicks, YTicks        []tick
	Bars                  []bar
	Threshold             float64 // 0: there is none
	Legend                []legendEntry
}

type tick struct {
	At   float64
	Text string
}

type bar struct {
	X, Y, Width, Height float64
	Color, Text         string
}

type legendEntry struct {
	Y           float64
	Color, Text string
	Dashed      bool
}

// Height is that of the figure.
func (c *chart) Height() float64 { return legendTop + legendLine*float64(len(c.Legend)) }

// Label says in words what the chart shows.
func (c *chart) Label() string {
	words := []string{c.Title}
	for _, entry := range c.Legend {
		words = append(words, entry.Text)
	}
	return strings.Join(words, "; ")
}

// explain says what a colour stands for, below the chart.
func (c *chart) explain(color, text string, dashed bool) {
	c.Legend = append(c.Legend, legendEntry{legendTop + legendLine*float64(len(c.Legend)), color, text, dashed})
}

// share is a share of an axis: what lies beyond its ends stands there.
func share(value float64) float64 { return min(max(value, 0), 1) }

// left is the place of a share of the axis of scores, to a tenth of a pixel.
func left(score float64) float64 { return pixel(axesLeft + axesWidth*share(score)) }

func pixel(at float64) float64 { return math.Round(10*at) / 10 }

// Chart draws the scores of the labelled nodes with a line at the threshold; NaN is none. Counts are on a log scale:
// most scores are of correct labels, far from the suspects.
func (h *Histogram) Chart(threshold float64) string {
	const least = 0.5
	most := max(10, float64(slices.Max(h.nodes[:])))
	top := func(count float64) float64 {
		return pixel(axesFoot - axesHeight*share((math.Log(count)-math.Log(least))/(math.Log(most)-math.Log(least))))
	}
	c := &chart{Title: "Scores of the labelled nodes", XLabel: "score", YLabel: "nodes, log scale"}
	for fifth := range 6 {
		score := float64(fifth) / 5
		c.XTicks = append(c.XTicks, tick{left(score), strconv.FormatFloat(score, 'g', 3, 64)})
	}
	for count := 1.0; count <= most; count *= 10 {
		c.YTicks = append(c.YTicks, tick{top(count), strconv.FormatFloat(count, 'g', 7, 64)})
	}
	const width = 1.0 / histogramBins
	for i, nodes := range h.nodes {
		if nodes == 0 {
			continue
		}
		from, y := width*float64(i), top(float64(nodes))
		c.Bars = append(c.Bars, bar{
			X: left(from), Y: y, Width: pixel(max(left(from+width)-left(from)-1, 1)), Height: pixel(axesFoot - y), Color: Blue,
			Text: fmt.Sprintf("score %.3g to %.3g: %d nodes", from, from+width, nodes),
		})
	}
	c.explain(Blue, "nodes", false)
	if !math.IsNaN(threshold) {
		c.Threshold = left(threshold)
		c.explain(Vermillion, fmt.Sprintf("threshold %.4g", threshold), true)
	}
	return render("chart", c)
}
