package nn

// A strip of a product with sparse rows is as many columns as are held in most registers.
const stripColumns = 64

// multiplySparse is multiply of sparse rows: it sets c [Count×n] to start [n] + x b, where b [Width×n] is row-major.
// The products that are left out are zero where b is finite, and change no sum.
func (p *multiplier) multiplySparse(x *Rows, n int, b, start, c []float32) {
	workers := min(p.workers, x.numbers()*n/parallelProduct)
	inParts(workers, x.Count, func(_, first, end int) {
		part := x.Slice(first, end)
		part.multiply(n, b, start, c[first*n:end*n])
	})
}

// multiply is multiplySparse on one goroutine.
func (x *Rows) multiply(n int, b, start, c []float32) {
	at := multiplyStrips(x, n, b, start, c)
	for r := 0; r < x.Count && at < n; r++ {
		sums := c[r*n+at:][:n-at]
		copy(sums, start[at:])
		columns, values := x.row(r)
		addRowsPlainly(sums, columns, values, b[at:], n)
	}
}

// multiplySparseTransposed sets c [Width×n] to the transpose of x times b [Count×n], both row-major, as multiply does.
func (p *multiplier) multiplySparseTransposed(x *Rows, n int, b, c []float32) {
	groups := (n + stripColumns - 1) / stripColumns
	workers := min(p.workers, x.numbers()*n/parallelProduct)
	clear(c)
	inParts(workers, groups, func(_, first, end int) {
		left, right := first*stripColumns, min(end*stripColumns, n)
		for r := range x.Count {
			columns, values := x.row(r)
			addToRows(c[left:], columns, values, b[r*n+left:r*n+right], n)
		}
	})
}

// addRowsPlainly adds to sums the first numbers of the rows of b, n apart, that columns names, each times its value,
// one after the other.
func addRowsPlainly(sums []float32, columns []uint32, values, b []float32, n int) {
	for i, column := range columns {
		for j, y := range b[int(column)*n:][:len(sums)] {
			sums[j] += float32(values[i] * y)
		}
	}
}

// addToRowsPlainly adds row to the rows of c, n apart, that columns names, each time multiplied by the value.
func addToRowsPlainly(c []float32, columns []uint32, values, row []float32, n int) {
	for i, column := range columns {
		to := c[int(column)*n:][:len(row)]
		for j, y := range row {
			to[j] += float32(values[i] * y)
		}
	}
}
