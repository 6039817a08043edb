package labelmodel

import "slices"

// lines are a matrix between classes [c×c] of which only some lines are held; each of the others has the same entries.
// A label model knows of no more classes than it has rows, so that few lines suffice however many classes there are.
type lines struct {
	held  [][]float64 // [c] of c entries; nil: that line is other
	other []float64
}

// newLines is a zero matrix that holds some lines, which may be named more than once.
func newLines(classes int, numbers []int) *lines {
	l := &lines{held: make([][]float64, classes), other: make([]float64, classes)}
	for _, line := range numbers {
		if l.held[line] == nil {
			l.held[line] = make([]float64, classes)
		}
	}
	return l
}

// clone is a copy.
func (l *lines) clone() *lines {
	copied := &lines{other: slices.Clone(l.other)}
	for _, line := range l.held {
		copied.held = append(copied.held, slices.Clone(line))
	}
	return copied
}

// of is a line; only one that is held may be written.
func (l *lines) of(line int) []float64 {
	if held := l.held[line]; held != nil {
		return held
	}
	return l.other
}
