package nn

import "github.com/graphcleaner/graphcleaner/cleaner/internal/float32s"

// A strip of a product with sparse rows is as many columns as are held in most registers.
const (
	stripColumns = 64
	halfStrip    = stripColumns / 2
)

// multiplySparse is multiply of sparse rows: it sets c [Count×n] to start [n] + x b, where b [Width×n] is row-major. The products that are
// left out are zero where b is finite, and change no sum.
func (p *multiplier) multiplySparse(x *Rows, n int, b, start, c []float32) {
	workers := min(p.workers, x.numbers()*n/parallelProduct)
	inParts(workers, x.Count, func(_, first, end int) {
		part := x.Slice(first, end)
		multiplyRows(&part, n, b, start, 0, c[first*n:end*n])
	})
}

// multiplyRows is multiplySparse on one goroutine, where the rows of start [Count×n] are so far apart.
func multiplyRows(x *Rows, n int, b, start []float32, apart int, c []float32) {
	at := multiplyStrips(x, n, b, start, apart, c)
	for r := 0; r < x.Count && at < n; r++ {
		sums := c[r*n+at:][:n-at]
		copy(sums, start[r*apart+at:])
		columns, values := x.row(r)
		addRowsPlainly(sums, columns, values, b[at:], n)
	}
}

// multiplyTransposed sets c [m×n] to the transpose of a [k×m] times b [k×n], all row-major, as multiply does. Where most of b is zero, as of
// the errors of units that ReLU and dropout leave off, it leaves out those products. They change no sum if a is finite.
func (p *multiplier) multiplyTransposed(m, k, n int, a, b, c []float32) {
	if m < stripColumns || !p.transposeBlocks(k, n, b) {
		p.multiply(m, k, n, rowsOf(a, m).transpose(), rowsOf(b, n), nil, c)
		return
	}
	right := &p.right
	strips := (m + stripColumns - 1) / stripColumns
	workers := max(1, min(p.workers, m*right.numbers()/parallelProduct, strips))
	for len(p.lefts) < workers {
		p.lefts = append(p.lefts, nil)
	}
	inParts(workers, strips, func(worker, first, end int) {
		p.lefts[worker] = float32s.Resize(p.lefts[worker], (blockRows+n)*stripColumns)
		block, sums := p.lefts[worker][:blockRows*stripColumns], p.lefts[worker][blockRows*stripColumns:]
		for i := first * stripColumns; i < min(end*stripColumns, m); i += stripColumns {
			columns := min(stripColumns, m-i)
			clear(sums)
			for q := range right.Count / n {
				for l := q * blockRows; l < min((q+1)*blockRows, k); l++ {
					copy(block[(l-q*blockRows)*stripColumns:][:columns], a[l*m+i:])
				}
				part := right.Slice(q*n, (q+1)*n)
				multiplyRows(&part, stripColumns, block, sums, stripColumns, sums)
			}
			transpose(c[i*n:], n, sums, stripColumns, n, columns)
		}
	})
}

// blockRows are the rows of a block of a strip, which stays in the nearest cache.
const blockRows = 64

// transposeBlocks sets p.right to the transposes of blocks of so many rows of b [k×n], one behind the other, if they are better sparse.
func (p *multiplier) transposeBlocks(k, n int, b []float32) bool {
	blocks := (k + blockRows - 1) / blockRows
	p.panels = float32s.Resize(p.panels, blocks*n*blockRows)
	if k%blockRows > 0 {
		clear(p.panels[(blocks-1)*n*blockRows:])
	}
	for q := range blocks {
		transpose(p.panels[q*n*blockRows:], blockRows, b[q*blockRows*n:], n, min(blockRows, k-q*blockRows), n)
	}
	right := p.right.compressed(Dense(p.panels, blocks*n, blockRows))
	return right.isSparse()
}

// multiplySparseTransposed sets c [Width×n] to the transpose of x times b [Count×n], both row-major, as multiply does.
func (p *multiplier) multiplySparseTransposed(x *Rows, n int, b, c []float32) {
	groups := (n + halfStrip - 1) / halfStrip
	workers := min(p.workers, x.numbers()*n/parallelProduct)
	clear(c)
	inParts(workers, groups, func(_, first, end int) {
		left, right := first*halfStrip, min(end*halfStrip, n)
		for r := range x.Count {
			columns, values := x.row(r)
			addToRows(c[left:], columns, values, b[r*n+left:r*n+right], n)
		}
	})
}

// addRowsPlainly adds to sums the first numbers of the rows of b, n apart, that columns names, each times its value, one after the other.
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
