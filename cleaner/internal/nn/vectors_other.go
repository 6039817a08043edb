//go:build !amd64 || purego

package nn

func multiplyStrips(*Rows, int, []float32, []float32, int, []float32) (done int) { return 0 }

func transpose(to []float32, stride int, from []float32, apart, rows, columns int) {
	transposePlainly(to, stride, from, apart, rows, columns)
}

func addToRows(c []float32, columns []uint32, values, row []float32, n int) {
	addToRowsPlainly(c, columns, values, row, n)
}

func (s *adamStep) take(p, mean, square, gradient []float32) {
	s.takePlainly(p, mean, square, gradient)
}

func (b *dropBytes) fill(seed, run uint64) { b.fillPlainly(seed, run) }

func dropRunOf(values, factors []float32, random *dropBytes, bound uint32, scale float32) {
	dropPlainly(values, factors, random[:], bound, scale)
}

func relu(h []float32) { reluPlainly(h) }

func mask(down, scale, h []float32) { maskPlainly(down, scale, h) }

func subtractLargest(values []float32, width int) { subtractLargestPlainly(values, width) }

func widen(widened []float64, values []float32) { widenPlainly(widened, values) }

func sumColumns(sums, rows []float32) { sumColumnsPlainly(sums, rows, len(sums)) }

func round(rounded []float32, values []float64) { roundPlainly(rounded, values) }

func divide(values []float32, by float64) { dividePlainly(values, by) }

// CountNonzero is how many numbers are not zero.
func CountNonzero(row []float32) (count int) { return countNonzeroPlainly(row) }

func compress(columns []uint32, values, row []float32) (count int) {
	return compressPlainly(columns, values, row, 0)
}
