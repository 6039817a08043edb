package nn

import (
	"sync"

	"github.com/graphcleaner/graphcleaner/internal/float32s"
)

// A matrixView is a matrix inside a slice: its number in row i and column j is data[i*row+j*column].
type matrixView struct {
	data        []float32
	row, column int
}

// rowsOf is a row-major matrix.
func rowsOf(data []float32, columns int) matrixView { return matrixView{data, columns, 1} }

// transpose is a view of the same numbers.
func (a matrixView) transpose() matrixView { return matrixView{a.data, a.column, a.row} }

// A tile of a product is held in registers.
const (
	tileRows    = 4
	tileColumns = 16
)

// A multiplier computes products of matrices on so many goroutines, 1 where it is zero. It keeps its memory from product
// to product, of which it computes one at a time.
type multiplier struct {
	workers int
	panels  []float32   // the right factor in panels of tileColumns columns, row-major, filled up with zeros
	starts  []float32   // likewise, of what the sums begin with
	lefts   [][]float32 // by worker: the rows of the left factor that a tile takes, by column
}

// parallelProduct is how many products of two numbers are worth another goroutine.
const parallelProduct = 1 << 17

// multiply sets c [m×n], row-major, to start + a b, where a is [m×k], b [k×n] and start [n] is added to every row; nil is
// zero. Every number of c is its start, to which products are added one after the other in the order of k, each rounded
// to float32, and so does not depend on how the work is divided, nor on the processor.
func (p *multiplier) multiply(m, k, n int, a, b matrixView, start, c []float32) {
	if m == 0 || n == 0 {
		return
	}
	panels := (n + tileColumns - 1) / tileColumns
	p.pack(k, n, b, start)
	tasks := (m + tileRows - 1) / tileRows
	workers := max(1, min(p.workers, m*k*n/parallelProduct, tasks))
	for len(p.lefts) < workers {
		p.lefts = append(p.lefts, nil)
	}
	inParts(workers, tasks, func(worker, first, end int) {
		tile := func(i, panel int, left matrixView) {
			at := panel * tileColumns
			rows, columns := min(tileRows, m-i), min(tileColumns, n-at)
			right, begin := p.panels[panel*k*tileColumns:][:k*tileColumns], p.starts[at:][:tileColumns]
			if rows == tileRows && columns == tileColumns {
				multiplyTile(c[i*n+at:], n, left, k, right, begin)
				return
			}
			var edge [tileRows * tileColumns]float32
			multiplyTile(edge[:], tileColumns, left, k, right, begin)
			for r := range rows {
				copy(c[(i+r)*n+at:][:columns], edge[r*tileColumns:])
			}
		}
		// Rows that lie one after the other in memory meet a panel that stays in a cache; others are brought together first.
		whole := first
		if a.column == 1 {
			whole = min(end, m/tileRows)
		}
		for panel := range panels {
			for i := first; i < whole; i++ {
				tile(i*tileRows, panel, matrixView{a.data[i*tileRows*a.row:], a.row, a.column})
			}
		}
		for i := whole; i < end; i++ {
			left := p.gather(worker, i*tileRows, min(tileRows, m-i*tileRows), k, a)
			for panel := range panels {
				tile(i*tileRows, panel, left)
			}
		}
	})
}

// gather copies so many rows of the left factor from row i on, filled up with zeros to a tile, column by column.
func (p *multiplier) gather(worker, i, rows, k int, a matrixView) matrixView {
	p.lefts[worker] = float32s.Resize(p.lefts[worker], tileRows*k)
	to := p.lefts[worker]
	for l := range k {
		column := to[l*tileRows:][:tileRows]
		if a.row == 1 && rows == tileRows {
			*(*[tileRows]float32)(column) = *(*[tileRows]float32)(a.data[i+l*a.column:])
			continue
		}
		clear(column)
		for r := range rows {
			column[r] = a.data[(i+r)*a.row+l*a.column]
		}
	}
	return matrixView{to, 1, tileRows}
}

// pack lays out the right factor and the start of a product.
func (p *multiplier) pack(k, n int, b matrixView, start []float32) {
	panels := (n + tileColumns - 1) / tileColumns
	p.panels = float32s.Resize(p.panels, panels*k*tileColumns)
	p.starts = float32s.Resize(p.starts, panels*tileColumns)
	clear(p.starts)
	copy(p.starts, start)
	for panel := range panels {
		left := panel * tileColumns
		columns := min(tileColumns, n-left)
		for l := range k {
			to := p.panels[(panel*k+l)*tileColumns:][:tileColumns]
			from := b.data[l*b.row+left*b.column:]
			if b.column == 1 {
				copy(to, from[:columns])
			} else {
				for j := range columns {
					to[j] = from[j*b.column]
				}
			}
			clear(to[columns:])
		}
	}
}

// multiplyTilePlainly sets the first tileRows × tileColumns of c, whose rows are stride apart, to start [tileColumns] plus
// the first rows of a times panel [k×tileColumns].
func multiplyTilePlainly(c []float32, stride int, a matrixView, k int, panel, start []float32) {
	for r := range tileRows {
		sums := [tileColumns]float32(start)
		for l := range k {
			x := a.data[r*a.row+l*a.column]
			for j, y := range panel[l*tileColumns:][:tileColumns] {
				sums[j] += float32(x * y) // the conversion keeps it from being fused with the sum
			}
		}
		copy(c[r*stride:], sums[:])
	}
}

// parallelNumbers are worth another goroutine.
const parallelNumbers = 1 << 14

// Share runs part on even shares of tasks, first ≤ i < end, on at most so many goroutines, and on fewer where the tasks
// together touch few numbers.
func Share(workers, numbers, tasks int, part func(worker, first, end int)) {
	inParts(min(workers, 1+numbers/parallelNumbers), tasks, part)
}

// inParts runs part on even shares of tasks, first ≤ i < end, on so many goroutines.
func inParts(workers, tasks int, part func(worker, first, end int)) {
	if workers = max(1, min(workers, tasks)); workers == 1 {
		part(0, 0, tasks)
		return
	}
	var wg sync.WaitGroup
	for worker := 1; worker < workers; worker++ {
		wg.Go(func() { part(worker, worker*tasks/workers, (worker+1)*tasks/workers) })
	}
	part(0, 0, tasks/workers)
	wg.Wait()
}
