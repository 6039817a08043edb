package figure

import (
	"math"
	"strconv"
	"strings"
)

// A chart has two axes.
type chart struct {
	x, y  axis
	parts chartParts
}

// What the template draws: places are in pixels, y downwards.
type (
	chartParts struct {
		Title, XLabel, YLabel string
		XTicks, YTicks        []tick
		Bars                  []bar
		Threshold             float64 // 0: there is none
		Legend                []legendEntry
	}
	tick struct {
		At   float64
		Text string
	}
	bar struct {
		X, Y, Width, Height float64
		Color, Text         string
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
func (p *chartParts) Height() float64 { return legendTop + legendLine*float64(len(p.Legend)) }

// Label says in words what the chart shows.
func (p *chartParts) Label() string {
	var texts []string
	for _, entry := range p.Legend {
		texts = append(texts, entry.Text)
	}
	return strings.Join(append([]string{p.Title}, texts...), "; ")
}

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

// newChart returns an empty one.
func newChart(title, xLabel, yLabel string, x, y axis) *chart {
	c := &chart{x: x, y: y, parts: chartParts{Title: title, XLabel: xLabel, YLabel: yLabel}}
	for _, value := range x.ticks() {
		c.parts.XTicks = append(c.parts.XTicks, tick{c.left(value), strconv.FormatFloat(value, 'g', 3, 64)})
	}
	for _, value := range y.ticks() {
		c.parts.YTicks = append(c.parts.YTicks, tick{c.top(value), strconv.FormatFloat(value, 'g', 7, 64)})
	}
	return c
}

// left and top place a value, to a tenth of a pixel.
func (c *chart) left(x float64) float64 { return pixel(axesLeft + axesWidth*c.x.at(x)) }
func (c *chart) top(y float64) float64  { return pixel(axesFoot - axesHeight*c.y.at(y)) }

// bar draws from the foot up to y, from x to end.
func (c *chart) bar(x, end, y float64, color, text string) {
	left, top := c.left(x), c.top(y)
	c.parts.Bars = append(c.parts.Bars, bar{
		X: left, Y: top, Width: pixel(max(c.left(end)-left-1, 1)), Height: pixel(axesFoot - top), Color: color, Text: text,
	})
}

// legend says what a colour stands for, below the chart.
func (c *chart) legend(color, text string, dashed bool) {
	at := legendTop + legendLine*float64(len(c.parts.Legend))
	c.parts.Legend = append(c.parts.Legend, legendEntry{Y: at, Color: color, Text: text, Dashed: dashed})
}
