package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// Colours of figures that all readers can tell apart (Okabe and Ito).
const (
	blue       = "#0072b2"
	vermillion = "#d55e00"
	grey       = "#8a8a8a"
)

// A chart is a figure with two axes. Places are in pixels, y downwards.
type chart struct {
	Title, XLabel, YLabel string
	XTicks, YTicks        []tick
	Bars                  []bar
	Lines                 []line
	Dots                  []dot
	Legend                []legendEntry

	x, y axis
}

type (
	tick struct {
		At   float64
		Text string
	}
	bar struct {
		X, Y, Width, Height float64
		Color, Text         string
	}
	line struct {
		Points, Color string
		Dashed        bool
	}
	dot struct {
		X, Y        float64
		Color, Text string
	}
	legendEntry struct {
		Y           float64
		Color, Text string
		Dashed      bool
	}
)

// The places of the axes and the legend. The template has them too.
const (
	axesLeft, axesWidth   = 56.0, 412.0
	axesFoot, axesHeight  = 252.0, 240.0
	legendTop, legendLine = 300.0, 18.0
)

// Height is that of the figure.
func (c *chart) Height() float64 { return legendTop + legendLine*float64(len(c.Legend)) }

// An axis maps its values to [0,1]. Values below the least or above the most stand at its ends.
type axis struct {
	least, most float64
	log         bool
}

var unitAxis = axis{least: 0, most: 1}

func (a axis) at(value float64) float64 {
	least, most := a.least, a.most
	if a.log {
		least, most, value = math.Log(least), math.Log(most), math.Log(value)
	}
	if !(most > least) {
		return 0
	}
	return min(max((value-least)/(most-least), 0), 1)
}

// ticks are powers of ten, or six values at equal distances.
func (a axis) ticks() (values []float64) {
	if a.log {
		for value := 1.0; value <= a.most; value *= 10 {
			values = append(values, value)
		}
		return values
	}
	const steps = 5
	for i := range steps + 1 {
		values = append(values, a.least+(a.most-a.least)*float64(i)/steps)
	}
	return values
}

func newChart(title, xLabel, yLabel string, x, y axis) *chart {
	c := &chart{Title: title, XLabel: xLabel, YLabel: yLabel, x: x, y: y}
	for _, value := range x.ticks() {
		c.XTicks = append(c.XTicks, tick{c.left(value), strconv.FormatFloat(value, 'g', 3, 64)})
	}
	for _, value := range y.ticks() {
		c.YTicks = append(c.YTicks, tick{c.top(value), strconv.FormatFloat(value, 'g', 7, 64)})
	}
	return c
}

// left and top place a value, to a tenth of a pixel.
func (c *chart) left(x float64) float64 { return pixel(axesLeft + axesWidth*c.x.at(x)) }
func (c *chart) top(y float64) float64  { return pixel(axesFoot - axesHeight*c.y.at(y)) }

func pixel(at float64) float64 { return math.Round(10*at) / 10 }

// bar draws from the foot up to y, from x to end.
func (c *chart) bar(x, end, y float64, color, text string) {
	left, top := c.left(x), c.top(y)
	c.Bars = append(c.Bars, bar{
		X: left, Y: top, Width: pixel(max(c.left(end)-left-1, 1)), Height: pixel(axesFoot - top), Color: color, Text: text,
	})
}

// line draws through points of x and y.
func (c *chart) line(points [][2]float64, color string, dashed bool) {
	var text strings.Builder
	for i, point := range points {
		if i > 0 {
			text.WriteByte(' ')
		}
		fmt.Fprintf(&text, "%v,%v", c.left(point[0]), c.top(point[1]))
	}
	c.Lines = append(c.Lines, line{Points: text.String(), Color: color, Dashed: dashed})
}

func (c *chart) dot(x, y float64, color, text string) {
	c.Dots = append(c.Dots, dot{X: c.left(x), Y: c.top(y), Color: color, Text: text})
}

func (c *chart) legend(color, text string, dashed bool) {
	at := legendTop + legendLine*float64(len(c.Legend))
	c.Legend = append(c.Legend, legendEntry{Y: at, Color: color, Text: text, Dashed: dashed})
}

// A histogram counts any number of scores in the same few bytes. Its axis is that of probabilities, until a score lies beyond it.
type histogram struct {
	axis
	all, wrong [histogramBins]int64 // wrong: of them, known to be mislabelled
}

const histogramBins = 40 // an even number: see widen

func newHistogram() *histogram { return &histogram{axis: unitAxis} }

// add counts a score. NaN counts as 0, as for cleaner.Metrics.ECE. An infinite score stands at the end of the axis.
func (h *histogram) add(score float64, wrong bool) {
	if math.IsNaN(score) {
		score = 0
	}
	if !math.IsInf(score, 0) {
		h.widen(score)
	}
	bin := min(int(h.at(score)*histogramBins), histogramBins-1)
	h.all[bin]++
	if wrong {
		h.wrong[bin]++
	}
}

// widen doubles the axis, two bins becoming one, until it has the score, or no number is beyond it.
func (h *histogram) widen(score float64) {
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
		h.all, h.wrong = halve(h.all, up), halve(h.wrong, up)
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

// chart draws the histogram. Counts are on a log scale: most scores are of correct labels, far from the suspects.
func (h *histogram) chart(title string, known bool) *chart {
	counts := axis{least: 0.5, most: max(10, float64(slices.Max(h.all[:]))), log: true}
	c := newChart(title, "score", "nodes, log scale", h.axis, counts)
	width := (h.most - h.least) / histogramBins
	for i, all := range h.all {
		x := h.least + width*float64(i)
		text := fmt.Sprintf("score %.3g to %.3g: %d nodes", x, x+width, all)
		if known {
			text += fmt.Sprintf(", %d of them mislabelled", h.wrong[i])
		}
		if all > 0 {
			c.bar(x, x+width, float64(all), blue, text)
		}
		if h.wrong[i] > 0 {
			c.bar(x, x+width, float64(h.wrong[i]), vermillion, text)
		}
	}
	c.legend(blue, "nodes", false)
	if known {
		c.legend(vermillion, "mislabelled nodes", false)
	}
	return c
}

// A heatMap shows a matrix of classes.
type heatMap struct {
	Title         string
	Width, Height float64
	Rows, Columns []heatName
	Cells         []heatCell
}

type heatName struct {
	X, Y        float64
	Name, Short string
}

type heatCell struct {
	X, Y, Size, Opacity float64
	Color, Text         string
}

// Of a heat map: how many classes it shows, and its sizes in pixels.
const (
	heatClasses    = 24
	heatSide       = 26.0
	heatLeft       = 180.0
	heatTop        = 130.0
	heatNameLength = 19 // characters
)

// newHeatMap draws P(given label | true class): a row a given label, a column a true class. It shows at most heatClasses classes, those
// that are confused with others most. Off the diagonal, the greatest probability is darkest. NaN is grey.
func newHeatMap(title string, classes []string, confused []float64, probability func(label, truth int) float64) *heatMap {
	places := query.ClassOrder(classes)
	if len(places) > heatClasses {
		slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(confused[b], confused[a]) })
		choice := make(map[int]bool)
		for _, i := range places[:heatClasses] {
			choice[i] = true
		}
		places = slices.DeleteFunc(query.ClassOrder(classes), func(i int) bool { return !choice[i] })
	}
	most := 0.0
	for _, i := range places {
		for _, j := range places {
			if p := probability(i, j); i != j && p > most {
				most = p
			}
		}
	}
	size := heatSide * float64(len(places))
	m := &heatMap{Title: title, Width: heatLeft + size + heatTop, Height: heatTop + size + 2}
	for row, i := range places {
		y := heatTop + heatSide*float64(row)
		x := pixel(heatLeft + heatSide*(float64(row)+0.6))
		m.Rows = append(m.Rows, heatName{heatLeft - 6, y + 17, classes[i], picture.Shorten(classes[i], heatNameLength)})
		m.Columns = append(m.Columns, heatName{x, heatTop - 6, classes[i], picture.Shorten(classes[i], heatNameLength)})
		for column, j := range places {
			cell := heatCell{X: heatLeft + heatSide*float64(column), Y: y, Size: heatSide, Color: vermillion}
			p := probability(i, j)
			switch {
			case math.IsNaN(p):
				cell.Color, cell.Opacity = grey, 0.3
			case i == j:
				cell.Color, cell.Opacity = blue, p
			case most > 0:
				cell.Opacity = p / most
			}
			cell.Opacity = math.Round(1000*cell.Opacity) / 1000
			cell.Text = fmt.Sprintf("%s given to a node of %s: %s", classes[i], classes[j], wording.Percent(p))
			m.Cells = append(m.Cells, cell)
		}
	}
	return m
}
