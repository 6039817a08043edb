package nn

import (
	"slices"
	"sync"
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

// A tile of a product, so many rows and columns, is held in registers.
const (
	tileRows    = 4
	tileColumns = 16
	groupRows   = 16  // rows of the left factor that are brought together: those of several tiles
	mostDepth   = 256 // numbers of a row that are multiplied in one go, so that the other factor stays in a cache
)

// A multiplier computes products of matrices on so many goroutines, 1 where it is zero. It keeps its memory from
// product to product, of which it computes one at a time.
type multiplier struct {
	workers int
	panels  []float32   // the right factor in panels of as many columns as a tile, row-major, filled up with zeros
	starts  []float32   // likewise, of what the sums begin with
	lefts   [][]float32 // by worker: the rows of the left factor that tiles take, by column
}

// parallelProduct is how many products of two numbers are worth another goroutine.
const parallelProduct = 1 << 17

// multiply sets c [m×n], row-major, to start + a b, where a is [m×k], b [k×n] and start [n] is added to every row; nil
// is zero. Every number of c is its start, to which products are added one after the other in the order of k, each
// rounded to float32, and so does not depend on how the work is divided, nor on the processor.
func (p *multiplier) multiply(m, k, n int, a, b matrixView, start, c []float32) {
	if m == 0 || n == 0 {
		return
	}
	p.pack(k, n, b, start)
	groups := (m + groupRows - 1) / groupRows
	workers := max(1, min(p.workers, m*k*n/parallelProduct, groups))
	for len(p.lefts) < workers {
		p.lefts = append(p.lefts, nil)
	}
	inParts(workers, groups, func(worker, first, end int) {
		for from := 0; from == 0 || from < k; from += mostDepth {
			depth := min(mostDepth, k-from)
			for i := first * groupRows; i < min(end*groupRows, m); i += groupRows {
				rows := min(groupRows, m-i)
				left := matrixView{a.data[min(i*a.row+from*a.column, len(a.data)):], a.row, a.column}
				if a.column != 1 || rows < groupRows {
					left = p.gather(worker, rows, depth, left)
				}
				for at := 0; at < n; at += tileColumns {
					p.multiplyPanel(rows, from, depth, k, n, at, left, c[i*n:])
				}
			}
		}
	})
}

// multiplyPanel adds to a group of so many rows of c, from column at on, the products of depth numbers of each row of
// left, the from-th of the k and those behind it.
func (p *multiplier) multiplyPanel(rows, from, depth, k, n, at int, left matrixView, c []float32) {
	columns := min(tileColumns, n-at)
	right, start, apart := p.panels[at*k+from*tileColumns:][:depth*tileColumns], p.starts[at:], 0
	var edge [tileRows * tileColumns]float32
	whole := 0 // tiles
	if columns == tileColumns {
		if whole = rows / tileRows; from > 0 {
			start, apart = c[at:], n
		}
		multiplyTiles(whole, c[at:], n, left, depth, right, start, apart)
	}
	for r := whole * tileRows; r < rows; r += tileRows { // tiles that stick out
		to := c[r*n+at:]
		if from > 0 {
			for i := range min(tileRows, rows-r) {
				copy(edge[i*tileColumns:][:columns], to[i*n:])
			}
			start, apart = edge[:], tileColumns
		}
		rest := matrixView{left.data[r*left.row:], left.row, left.column}
		multiplyTiles(1, edge[:], tileColumns, rest, depth, right, start, apart)
		for i := range min(tileRows, rows-r) {
			copy(to[i*n:][:columns], edge[i*tileColumns:])
		}
	}
}

// gather copies so many rows and columns of the left factor column by column, groupRows apart. What it has after the
// rows is never used.
func (p *multiplier) gather(worker, rows, columns int, a matrixView) matrixView {
	p.lefts[worker] = slices.Grow(p.lefts[worker][:0], groupRows*mostDepth)[:groupRows*mostDepth]
	to := p.lefts[worker]
	for l := range columns {
		if a.row == 1 {
			copy(to[l*groupRows:][:rows], a.data[l*a.column:])
			continue
		}
		for r := range rows {
			to[l*groupRows+r] = a.data[r*a.row+l*a.column]
		}
	}
	return matrixView{to, 1, groupRows}
}

// pack lays out the right factor and the start of a product.
func (p *multiplier) pack(k, n int, b matrixView, start []float32) {
	filled := (n + tileColumns - 1) / tileColumns * tileColumns
	p.panels = slices.Grow(p.panels[:0], k*filled)[:k*filled]
	p.starts = slices.Grow(p.starts[:0], filled)[:filled]
	clear(p.starts)
	copy(p.starts, start)
	for at := 0; at < n; at += tileColumns {
		columns := min(tileColumns, n-at)
		for l := range k {
			row, from := p.panels[at*k+l*tileColumns:][:tileColumns], b.data[at*b.column+l*b.row:]
			if b.column == 1 {
				copy(row, from[:columns])
			} else {
				for j := range columns {
					row[j] = from[j*b.column]
				}
			}
			clear(row[columns:])
		}
	}
}

// multiplyPlainly sets the rows of so many tiles of c, stride apart, to start, whose rows are so far apart, plus the
// first rows of a times panel [k×tileColumns].
func multiplyPlainly(tiles int, c []float32, stride int, a matrixView, k int, panel, start []float32, apart int) {
	var sums [tileColumns]float32
	for r := range tiles * tileRows {
		copy(sums[:], start[r*apart:])
		for l := range k {
			x := a.data[r*a.row+l*a.column]
			for j, y := range panel[l*tileColumns:][:tileColumns] {
				sums[j] += float32(x * y) // the conversion keeps it from being fused with the sum
			}
		}
		copy(c[r*stride:][:tileColumns], sums[:])
	}
}

// parallelNumbers are worth another goroutine.
const parallelNumbers = 1 << 14

// share runs part on even shares of tasks, first ≤ i < end, on at most so many goroutines, and on fewer where the tasks
// together touch few numbers.
func share(workers, numbers, tasks int, part func(worker, first, end int)) {
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
