package labelmodel

import (
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
)

// lines are a matrix between classes [c×c] of which only some lines are held; each of the others has the same entries.
// A label model knows of no more classes than it has rows, so that few lines suffice however many classes there are.
type lines struct {
	classes int
	numbers []int     // of the lines that are held, ascending
	place   []int32   // of a line in numbers [c], or -1
	values  []float64 // [numbers×c]
	other   []float64 // a line that is not held [c]
}

// newLines is a zero matrix that holds some lines, which may be named more than once, in any order.
func newLines(classes int, numbers []int) *lines {
	l := &lines{classes: classes, numbers: slices.Clone(numbers), place: make([]int32, classes),
		other: make([]float64, classes)}
	slices.Sort(l.numbers)
	l.numbers = slices.Compact(l.numbers)
	for i := range l.place {
		l.place[i] = -1
	}
	for p, i := range l.numbers {
		l.place[i] = int32(p)
	}
	l.values = make([]float64, len(l.numbers)*classes)
	return l
}

// clone is a copy.
func (l *lines) clone() *lines {
	other := *l
	other.values, other.other = slices.Clone(l.values), slices.Clone(l.other)
	return &other
}

// of is a line; only one that is held may be written.
func (l *lines) of(line int) []float64 {
	p := l.place[line]
	if p < 0 {
		return l.other
	}
	return l.values[int(p)*l.classes:][:l.classes]
}

func (l *lines) at(line, entry int) float64 { return l.of(line)[entry] }

// cells are the entries of held lines that are not below least, by line and entry: Row is the line.
func (l *lines) cells(least float64) (cells []classmatrix.Cell) {
	for _, line := range l.numbers {
		for entry, value := range l.of(line) {
			if value >= least {
				cells = append(cells, classmatrix.Cell{Row: line, Column: entry, Value: value})
			}
		}
	}
	return slices.Clip(cells)
}
