package main

import (
	"errors"
	"image/color"
	"math"
	"os"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The lines of the plot, by command and stage. The colours can be told apart by all readers (Okabe and Ito).
var growthLines = []struct {
	command, stage, name string
	color                color.Color
}{
	{"import", "", "import", color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}},
	{"clean", "", "clean", color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}},
	{"clean", "diagonal", "clean: diagonal", color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}},
	{"clean", "propagate", "clean: propagate", color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}},
}

// plotGrowth draws seconds an edge and peak anonymous memory against the number of edges, side by side, log axes.
func plotGrowth(path string, rows []growthRow) (err error) {
	seconds, memory := newLogPlot("nanoseconds an edge"), newLogPlot("peak anonymous memory, MiB")
	var edges []float64
	for _, row := range rows {
		edges = append(edges, float64(row.edges)/1e6)
	}
	for _, line := range growthLines {
		var times, peaks plotter.XYs
		for _, row := range rows {
			if row.command != line.command || row.stage != line.stage {
				continue
			}
			x := float64(row.edges) / 1e6
			if row.seconds > 0 { // zero has no logarithm
				times = append(times, plotter.XY{X: x, Y: 1e9 * row.seconds / float64(row.edges)})
			}
			if row.stage == "" && row.peakAnonymous > 0 {
				peaks = append(peaks, plotter.XY{X: x, Y: float64(row.peakAnonymous) / (1 << 20)})
			}
		}
		err := errors.Join(addLine(seconds, line.name, line.color, times), addLine(memory, line.name, line.color, peaks))
		if err != nil {
			return err
		}
	}
	for _, p := range []*plot.Plot{seconds, memory} {
		roundRange(&p.Y)
		p.X.Tick.Marker = sizeTicks(edges)
		p.X.Min, p.X.Max = slices.Min(edges)/1.5, slices.Max(edges)*1.5
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	canvas := vgsvg.New(9*vg.Inch, 3.5*vg.Inch)
	tiles := draw.Tiles{
		Rows: 1, Cols: 2,
		PadX: vg.Points(16), PadTop: vg.Points(6), PadRight: vg.Points(6), PadBottom: vg.Points(6),
	}
	plots := [][]*plot.Plot{{seconds, memory}}
	for i, row := range plot.Align(plots, tiles, draw.New(canvas)) {
		for j, part := range row {
			plots[i][j].Draw(part)
		}
	}
	_, err = canvas.WriteTo(file)
	return err
}

func newLogPlot(label string) *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "edges, millions", label
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.Y.Tick.Marker = plot.LogTicks{Prec: -1}
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	return p
}

func addLine(p *plot.Plot, name string, c color.Color, points plotter.XYs) error {
	if len(points) == 0 {
		return nil
	}
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color, marks.Color = c, c
	marks.Shape = draw.CircleGlyph{}
	p.Add(line, marks)
	p.Legend.Add(name, line, marks)
	return nil
}

// roundRange widens an axis to whole powers of ten, with a decade to spare for the legend above.
func roundRange(axis *plot.Axis) {
	if !(axis.Min > 0 && axis.Max >= axis.Min) { // no points
		axis.Min, axis.Max = 1, 10
	}
	axis.Min = math.Pow10(int(math.Floor(math.Log10(axis.Min))))
	axis.Max = math.Pow10(int(math.Ceil(math.Log10(axis.Max))) + 1)
}

// sizeTicks marks the sizes that were measured.
func sizeTicks(edges []float64) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for _, x := range slices.Compact(slices.Sorted(slices.Values(edges))) {
		label := math.Round(x)
		if x < 1 {
			label = math.Round(100*x) / 100
		}
		ticks = append(ticks, plot.Tick{Value: x, Label: strconv.FormatFloat(label, 'f', -1, 64)})
	}
	return ticks
}
