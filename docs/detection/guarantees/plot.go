package main

import (
	"errors"
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/graphcleaner/graphcleaner/docs/detection/internal/study"
)

// lineColors are by noise and method. They can be told apart by all readers (Okabe and Ito).
var lineColors = map[string]color.Color{
	"sym default":  color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff},
	"asym default": color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff},
	"sym paper":    color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff},
	"asym paper":   color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff},
}

// plotSeries draws the rates against alpha: false positives above, false negatives below, a column a graph.
func plotSeries(path string, datasets []study.Dataset, all []*series) (err error) {
	plots := make([][]*plot.Plot, 2)
	for _, d := range datasets {
		for row, label := range []string{"false positive rate", "false negative rate"} {
			p, err := newPlot(d.Title(), label)
			if err != nil {
				return err
			}
			if err := addSeries(p, row, d, all); err != nil {
				return err
			}
			plots[row] = append(plots[row], p)
		}
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	canvas := vgsvg.New(vg.Length(len(datasets))*4*vg.Inch, 7.5*vg.Inch)
	tiles := draw.Tiles{
		Rows: 2, Cols: len(datasets), PadX: vg.Points(16), PadY: vg.Points(16),
		PadTop: vg.Points(6), PadRight: vg.Points(10), PadBottom: vg.Points(6),
	}
	for i, row := range plot.Align(plots, tiles, draw.New(canvas)) {
		for j, part := range row {
			plots[i][j].Draw(part)
		}
	}
	_, err = canvas.WriteTo(file)
	return err
}

// newPlot has the line that no rate should be above.
func newPlot(title, label string) (*plot.Plot, error) {
	most := alphas[len(alphas)-1]
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "α", label
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, most, 0, most
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.TextStyle.Font.Size = vg.Points(8)
	bound, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: most, Y: most}})
	if err != nil {
		return nil, err
	}
	bound.Color = color.Gray{Y: 0x99}
	p.Add(plotter.NewGrid(), bound)
	p.Legend.Add("the bound", bound)
	return p, nil
}

// addSeries draws a full line where the mislabel rate is known, and a dashed one where it is estimated.
func addSeries(p *plot.Plot, row int, d study.Dataset, all []*series) error {
	for _, s := range all {
		if s.dataset != d {
			continue
		}
		name := s.noise + " " + s.method
		for i, byAlpha := range [][]rates{s.known, s.estimated} {
			line, err := plotter.NewLine(points(row, byAlpha))
			if errors.Is(err, plotter.ErrNoData) {
				continue
			}
			if err != nil {
				return err
			}
			line.Color, line.Width = lineColors[name], vg.Points(1.3)
			title := name + ", true p"
			if i == 1 {
				line.Dashes, title = []vg.Length{vg.Points(4), vg.Points(3)}, name+", estimated p"
			}
			p.Add(line)
			p.Legend.Add(title, line)
		}
	}
	return nil
}

func points(row int, byAlpha []rates) (xys plotter.XYs) {
	for i, alpha := range alphas {
		m := byAlpha[i].falsePositives
		if row == 1 {
			m = byAlpha[i].falseNegatives
		}
		if m.count > 0 {
			xys = append(xys, plotter.XY{X: alpha, Y: m.value()})
		}
	}
	return xys
}
