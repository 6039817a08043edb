//go:build !purego

package nn

import (
	"golang.org/x/sys/cpu"

	"github.com/graphcleaner/graphcleaner/internal/processor"
)

// hasAVX512 tells whether the kernels with vectors of 512 bits are used. Tests turn them off.
var hasAVX512 = processor.HasAVX512

// The kernels check no bounds, and round products and sums one by one: the bits are those of the plain ones. Strides
// are in bytes.

// multiplyTilesVectors is multiplyPlainly. k and tiles ≥ 1.
//
//go:noescape
func multiplyTilesVectors(
	c *float32, stride uintptr, a *float32, row, column uintptr, k int, panel, start *float32, apart uintptr, tiles int,
)

// multiplyGroupVectors is multiplyPlainly of groupRows rows. It needs AVX-512.
//
//go:noescape
func multiplyGroupVectors(
	c *float32, stride uintptr, a *float32, row, column uintptr, k int, panel, start *float32, apart uintptr,
)

// multiplyTiles is multiplyPlainly.
func multiplyTiles(tiles int, c []float32, stride int, a matrixView, k int, panel, start []float32, apart int) {
	if !cpu.X86.HasAVX2 || k == 0 || tiles == 0 {
		multiplyPlainly(tiles, c, stride, a, k, panel, start, apart)
		return
	}
	// The ends of the memory that is reached.
	last := tiles*tileRows - 1
	_, _ = c[last*stride+tileColumns-1], a.data[last*a.row+(k-1)*a.column]
	_, _ = panel[k*tileColumns-1], start[last*apart+tileColumns-1]
	toC, row, column, toStart := uintptr(4*stride), uintptr(4*a.row), uintptr(4*a.column), uintptr(4*apart)
	if tiles*tileRows == groupRows && hasAVX512 {
		multiplyGroupVectors(&c[0], toC, &a.data[0], row, column, k, &panel[0], &start[0], toStart)
	} else {
		multiplyTilesVectors(&c[0], toC, &a.data[0], row, column, k, &panel[0], &start[0], toStart, tiles)
	}
}

// multiplyStripVectors is multiplyRows of so many rows and a strip.
//
//go:noescape
func multiplyStripVectors(
	c, start, b *float32, stride uintptr, starts, ends *int, rows int, columns *uint32, values *float32,
)

// multiplyStrips sets the first columns of c to start + x b, as many as are whole strips, and returns how many those
// are.
func multiplyStrips(x *Rows, n int, b, start, c []float32) (done int) {
	if !cpu.X86.HasAVX2 || x.Count == 0 || len(x.values) == 0 {
		return 0
	}
	_, _, _ = c[x.Count*n-1], b[x.Width*n-1], start[n-1]
	for ; done+stripColumns <= n; done += stripColumns {
		multiplyStripVectors(&c[done], &start[done], &b[done], uintptr(4*n), &x.starts[0], &x.ends[0], x.Count,
			&x.columns[0], &x.values[0])
	}
	return done
}

// addToStripVectors is addToRowsPlainly of a strip; stride is that of c.
//
//go:noescape
func addToStripVectors(c *float32, columns *uint32, values *float32, count int, row *float32, stride uintptr)

// addToRows is addToRowsPlainly.
func addToRows(c []float32, columns []uint32, values, row []float32, n int) {
	if !cpu.X86.HasAVX2 || len(columns) == 0 {
		addToRowsPlainly(c, columns, values, row, n)
		return
	}
	_ = values[len(columns)-1]
	at := 0
	for ; at+stripColumns <= len(row); at += stripColumns {
		addToStripVectors(&c[at], &columns[0], &values[0], len(columns), &row[at], uintptr(4*n))
	}
	if at < len(row) {
		addToRowsPlainly(c[at:], columns, values, row[at:], n)
	}
}
