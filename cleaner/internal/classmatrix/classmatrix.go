// Package classmatrix holds matrices between classes. Most of them are nearly all zero, and only the other cells are
// held, since there may be very many classes.
package classmatrix

import (
	"cmp"
	"math"
	"slices"
)

// A Matrix is one [Classes×Classes] that is mostly zero, such as counts of nodes: it has no more cells than there are
// nodes.
type Matrix struct {
	Classes int
	Cells   []Cell // those that are not zero, by row and column

	empty []bool // columns of NaN, which Cells does not have; nil: none
}

// A Cell is an entry of a matrix that is mostly zero.
type Cell struct {
	Row, Column int
	Value       float64
}

// At is the value of a cell; NaN in a column without mass of ByColumn.
func (m *Matrix) At(row, column int) float64 {
	if m.empty != nil && m.empty[column] {
		return math.NaN()
	}
	at, found := slices.BinarySearchFunc(m.Cells, Cell{Row: row, Column: column}, Compare)
	if !found {
		return 0
	}
	return m.Cells[at].Value
}

// Compare orders cells by row and column.
func Compare(a, b Cell) int {
	return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Column, b.Column))
}

// OfCounts is the matrix of counts by cell, row·classes + column.
func OfCounts(classes int, counts map[uint64]uint32) *Matrix {
	m := &Matrix{Classes: classes, Cells: make([]Cell, 0, len(counts))}
	for cell, count := range counts {
		m.Cells = append(m.Cells, Cell{
			Row: int(cell / uint64(classes)), Column: int(cell % uint64(classes)), Value: float64(count),
		})
	}
	slices.SortFunc(m.Cells, Compare)
	return m
}

// ByColumn divides each column by its sum. A column without mass is NaN.
func (m *Matrix) ByColumn() *Matrix {
	mass := make([]float64, m.Classes)
	for _, cell := range m.Cells {
		mass[cell.Column] += cell.Value
	}
	shares := &Matrix{Classes: m.Classes, empty: make([]bool, m.Classes)}
	for j := range mass {
		shares.empty[j] = mass[j] == 0
	}
	for _, cell := range m.Cells {
		if !shares.empty[cell.Column] {
			cell.Value /= mass[cell.Column]
			shares.Cells = append(shares.Cells, cell)
		}
	}
	return shares
}

// Dense is a zero [n×n] matrix whose rows share one allocation.
func Dense(n int) [][]float64 {
	rows, values := make([][]float64, n), make([]float64, n*n)
	for i := range rows {
		rows[i] = values[i*n : (i+1)*n : (i+1)*n]
	}
	return rows
}
