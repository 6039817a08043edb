package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// What the template draws: places are in pixels, y downwards.
type heatMap struct {
	Title, Label  string
	Width, Height float64
	Rows, Columns []heatName
	Cells         []heatCell
	Key           []heatKey
}

type heatName struct {
	X, Y        float64
	Name, Short string
}

type heatCell struct {
	X, Y, Size, Opacity float64
	Color, Text         string
}

// A heatKey says what a colour means: in squares of growing opacity, and in words.
type heatKey struct {
	Squares []heatCell
	X, Y    float64
	Text    string
}

// Of a heat map: how many classes it shows, and its sizes in pixels.
const (
	heatClasses    = 24
	heatSide       = 26.0
	heatLeft       = 180.0
	heatTop        = 130.0
	heatLeast      = 400.0 // width, for the key
	heatNameLength = 19    // characters
	heatKeyLine    = 20.0
	heatKeySide    = 14.0
	heatKeyLeft    = 6.0
)

// HeatMap draws P(given label | true class): a row a given label, a column a true class. Classes stand in the order of answers; confused
// says of each how much it is confused with others. The figure shows at most 24 classes, those that are confused most. Off the diagonal,
// the greatest probability has the strongest colour. NaN, the probability of a class without examples, is grey. A key says all this.
func HeatMap(title string, classes []string, confused []float64, probability func(label, truth int) float64) string {
	return render("heat", newHeatMap(title, classes, confused, probability))
}

// HeatMapClasses are the classes that HeatMap shows, in its order.
func HeatMapClasses(classes []string, confused []float64) []int {
	places := query.ClassOrder(classes)
	if len(places) <= heatClasses {
		return places
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(confused[b], confused[a]) })
	choice := make(map[int]bool)
	for _, i := range places[:heatClasses] {
		choice[i] = true
	}
	return slices.DeleteFunc(query.ClassOrder(classes), func(i int) bool { return !choice[i] })
}

func newHeatMap(title string, classes []string, confused []float64, probability func(label, truth int) float64) *heatMap {
	places := HeatMapClasses(classes, confused)
	most, at, unknown := 0.0, [2]int{}, false
	for _, i := range places {
		for _, j := range places {
			p := probability(i, j)
			unknown = unknown || math.IsNaN(p)
			if i != j && p > most {
				most, at = p, [2]int{i, j}
			}
		}
	}
	size := heatSide * float64(len(places))
	m := &heatMap{Title: title, Label: title, Width: max(heatLeft+size+heatTop, heatLeast), Height: heatTop + size + 2}
	for row, i := range places {
		y := heatTop + heatSide*float64(row)
		x := pixel(heatLeft + heatSide*(float64(row)+0.6))
		m.Rows = append(m.Rows, heatName{heatLeft - 6, y + 17, classes[i], picture.Shorten(classes[i], heatNameLength)})
		m.Columns = append(m.Columns, heatName{x, heatTop - 6, classes[i], picture.Shorten(classes[i], heatNameLength)})
		for column, j := range places {
			cell := heatCell{X: heatLeft + heatSide*float64(column), Y: y, Size: heatSide, Color: Vermillion}
			p := probability(i, j)
			switch {
			case math.IsNaN(p):
				cell.Color, cell.Opacity = Grey, 0.3
			case i == j:
				cell.Color, cell.Opacity = Blue, p
			case most > 0:
				cell.Opacity = p / most
			}
			cell.Opacity = math.Round(1000*cell.Opacity) / 1000
			cell.Text = fmt.Sprintf("%s given to a node of %s: %s", classes[i], classes[j], wording.Percent(p))
			m.Cells = append(m.Cells, cell)
		}
	}
	if most > 0 {
		m.Label += fmt.Sprintf("; the most frequent wrong label: %s given to a node of %s, %s", classes[at[0]], classes[at[1]], wording.Percent(most))
		m.key(fmt.Sprintf("wrong label; strongest: %s of the true class", wording.Percent(most)), Vermillion, 0, 0.25, 0.5, 0.75, 1)
	}
	m.key("right label; strongest: 100% of the true class", Blue, 0, 0.25, 0.5, 0.75, 1)
	if unknown {
		m.key("no example of the true class", Grey, 0.3)
	}
	if len(places) < len(classes) {
		m.key(fmt.Sprintf("Of %d classes, the %d that are confused most.", len(classes), len(places)), "")
	}
	return m
}

// key adds a line to the key, below all else.
func (m *heatMap) key(text, color string, opacities ...float64) {
	k := heatKey{X: heatKeyLeft, Y: m.Height + 17, Text: text}
	for _, opacity := range opacities {
		k.Squares = append(k.Squares, heatCell{X: k.X, Y: m.Height + 6, Size: heatKeySide, Opacity: opacity, Color: color})
		k.X += heatKeySide
	}
	if len(opacities) > 0 {
		k.X += 6
	}
	m.Height += heatKeyLine
	m.Key = append(m.Key, k)
}
