package confident

import "github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"

// denseMatrix lays a matrix out.
func denseMatrix(m *classmatrix.Matrix) [][]float64 {
	rows := classmatrix.Dense(m.Classes)
	for i, row := range rows {
		for j := range row {
			row[j] = m.At(i, j)
		}
	}
	return rows
}

// sparseMatrix is the reverse.
func sparseMatrix(rows [][]float64) *classmatrix.Matrix {
	m := &classmatrix.Matrix{Classes: len(rows)}
	for i, row := range rows {
		for j, value := range row {
			if value != 0 {
				m.Cells = append(m.Cells, classmatrix.Cell{Row: i, Column: j, Value: value})
			}
		}
	}
	return m
}
