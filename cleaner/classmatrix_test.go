package cleaner

// denseMatrix lays a matrix out.
func denseMatrix(m *ClassMatrix) [][]float64 {
	rows := newMatrix(m.Classes)
	for i, row := range rows {
		for j := range row {
			row[j] = m.At(i, j)
		}
	}
	return rows
}

// sparseMatrix is the reverse.
func sparseMatrix(rows [][]float64) *ClassMatrix {
	m := &ClassMatrix{Classes: len(rows)}
	for i, row := range rows {
		for j, value := range row {
			if value != 0 {
				m.Cells = append(m.Cells, Cell{Row: i, Column: j, Value: value})
			}
		}
	}
	return m
}
