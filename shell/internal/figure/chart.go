package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Chart has two axes.
type Chart struct {
	x, y  axis
	parts chartParts
}

// What the template draws: places are in pixels, y downwards.
type (
	chartParts struct {
		Title, XLabel, YLabel string
		XTicks, YTicks        []tick
		Bars                  []bar
		Lines                 []line
		Threshold             *thresholdLine
		Dots                  []dot
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
	line struct {
		Points, Color string
		Dashed        bool
	}
	thresholdLine struct {
		At, Least, Most float64 // Least and Most are the values at the ends of the axis
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

// NewChart returns an empty chart of values from 0 to 1.
func NewChart(title, xLabel, yLabel string) *Chart {
	return newChart(title, xLabel, yLabel, unitAxis, unitAxis)
}

func newChart(title, xLabel, yLabel string, x, y axis) *Chart {
	c := &Chart{x: x, y: y, parts: chartParts{Title: title, XLabel: xLabel, YLabel: yLabel}}
	for _, value := range x.ticks() {
		c.parts.XTicks = append(c.parts.XTicks, tick{c.left(value), strconv.FormatFloat(value, 'g', 3, 64)})
	}
	for _, value := range y.ticks() {
		c.parts.YTicks = append(c.parts.YTicks, tick{c.top(value), strconv.FormatFloat(value, 'g', 7, 64)})
	}
	return c
}

// HTML draws the chart.
func (c *Chart) HTML() string { return render("chart", &c.parts) }

// left and top place a value, to a tenth of a pixel.
func (c *Chart) left(x float64) float64 { return pixel(axesLeft + axesWidth*c.x.at(x)) }
func (c *Chart) top(y float64) float64  { return pixel(axesFoot - axesHeight*c.y.at(y)) }

// bar draws from the foot up to y, from x to end.
func (c *Chart) bar(x, end, y float64, color, text string) {
	left, top := c.left(x), c.top(y)
	c.parts.Bars = append(c.parts.Bars, bar{
		X: left, Y: top, Width: pixel(max(c.left(end)-left-1, 1)), Height: pixel(axesFoot - top), Color: color, Text: text,
	})
}

// Line draws through points of x and y.
func (c *Chart) Line(points [][2]float64, color string, dashed bool) {
	var text strings.Builder
	for i, point := range points {
		if i > 0 {
			text.WriteByte(' ')
		}
		fmt.Fprintf(&text, "%v,%v", c.left(point[0]), c.top(point[1]))
	}
	c.parts.Lines = append(c.parts.Lines, line{Points: text.String(), Color: color, Dashed: dashed})
}

// Dot draws a point. Its text is for those who point at it.
func (c *Chart) Dot(x, y float64, color, text string) {
	c.parts.Dots = append(c.parts.Dots, dot{X: c.left(x), Y: c.top(y), Color: color, Text: text})
}

// Legend says what a colour stands for, below the chart.
func (c *Chart) Legend(color, text string, dashed bool) {
	at := legendTop + legendLine*float64(len(c.parts.Legend))
	c.parts.Legend = append(c.parts.Legend, legendEntry{Y: at, Color: color, Text: text, Dashed: dashed})
}
