package cleaner

import (
	"cmp"
	"math"
	"slices"
)

// A ClassMatrix is a matrix between classes [Classes×Classes] that is mostly zero, such as ConfidentJoint: no more of its
// cells are not than there are nodes that it was counted on.
type ClassMatrix struct {
	Classes int
	Cells   []Cell // those that are not zero, by row and column

	empty []bool // columns of NaN, which Cells does not have; nil: none
}

// At is NaN in a column without mass of a TransitionMatrix.
func (m *ClassMatrix) At(row, column int) float64 {
	if m.empty != nil && m.empty[column] {
		return math.NaN()
	}
	at, found := slices.BinarySearchFunc(m.Cells, Cell{Row: row, Column: column}, compareCells)
	if !found {
		return 0
	}
	return m.Cells[at].Value
}

// compareCells orders cells by row and column.
func compareCells(a, b Cell) int {
	return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Column, b.Column))
}

// countedCells is the matrix of counts by cell, row·classes + column.
func countedCells(classes int, counts map[uint64]uint32) *ClassMatrix {
	m := &ClassMatrix{Classes: classes, Cells: make([]Cell, 0, len(counts))}
	for cell, count := range counts {
		m.Cells = append(m.Cells, Cell{
			Row: int(cell / uint64(classes)), Column: int(cell % uint64(classes)), Value: float64(count),
		})
	}
	slices.SortFunc(m.Cells, compareCells)
	return m
}
