//go:build !purego

package nn

import (
	"golang.org/x/sys/cpu"

	"github.com/graphcleaner/graphcleaner/internal/processor"
)

// hasAVX512 tells whether the kernels with vectors of 512 bits are used. Tests turn them off.
var hasAVX512 = processor.HasAVX512

// multiplyWideVectors is multiplyPlainly with wide tiles, without checks of bounds; strides are in bytes. k and tiles ≥ 1. Products and sums are
// rounded one by one: the bits are those of the plain kernel.
//
//go:noescape
func multiplyWideVectors(c *float32, stride uintptr, a *float32, row, column uintptr, k int, panel, start *float32, apart uintptr, tiles int)

// multiplyNarrowVectors is the same with narrow ones.
//
//go:noescape
func multiplyNarrowVectors(c *float32, stride uintptr, a *float32, row, column uintptr, k int, panel, start *float32, apart uintptr, tiles int)

// multiplyGroupVectors is the same with groupRows rows of wide tiles. It needs AVX-512.
//
//go:noescape
func multiplyGroupVectors(c *float32, stride uintptr, a *float32, row, column uintptr, k int, panel, start *float32, apart uintptr)

// copyVectors is copyPlainly, without checks of bounds; stride is in bytes. pieces ≥ 1.
//
//go:noescape
func copyVectors(to, from *float32, stride uintptr, pieces int)

// multiplyTiles is multiplyPlainly.
func multiplyTiles(t tile, tiles int, c []float32, stride int, a matrixView, k int, panel, start []float32, apart int) {
	if !cpu.X86.HasAVX2 || k == 0 || tiles == 0 {
		multiplyPlainly(t, tiles, c, stride, a, k, panel, start, apart)
		return
	}
	// The ends of what is reached.
	last := tiles*t.rows - 1
	_ = c[last*stride+t.columns-1]
	_ = a.data[last*a.row+(k-1)*a.column]
	_, _ = panel[k*t.columns-1], start[last*apart+t.columns-1]
	switch {
	case t == wide && tiles*t.rows == groupRows && hasAVX512:
		multiplyGroupVectors(
			&c[0], uintptr(4*stride), &a.data[0], uintptr(4*a.row), uintptr(4*a.column), k, &panel[0], &start[0], uintptr(4*apart))
	case t == wide:
		multiplyWideVectors(
			&c[0], uintptr(4*stride), &a.data[0], uintptr(4*a.row), uintptr(4*a.column), k, &panel[0], &start[0], uintptr(4*apart), tiles)
	default:
		multiplyNarrowVectors(
			&c[0], uintptr(4*stride), &a.data[0], uintptr(4*a.row), uintptr(4*a.column), k, &panel[0], &start[0], uintptr(4*apart), tiles)
	}
}

// copyPieces is copyPlainly.
func copyPieces(to, from []float32, stride, pieces int) {
	if !cpu.X86.HasAVX2 || pieces == 0 {
		copyPlainly(to, from, stride, pieces)
		return
	}
	_, _ = to[pieces*pieceNumbers-1], from[(pieces-1)*stride+pieceNumbers-1]
	copyVectors(&to[0], &from[0], uintptr(4*stride), pieces)
}

// fetchLines asks for the cache lines of so many rows, of so many bytes each, to come into the nearest cache. count and bytes ≥ 1.
//
//go:noescape
func fetchLines(from *float32, rows *uint32, count int, bytes uintptr)

// fetchRows asks for rows of so many numbers of a matrix, so that they are not waited for one after the other.
func fetchRows(from []float32, rows []uint32, width int) {
	if len(rows) > 0 && width > 0 {
		fetchLines(&from[0], &rows[0], len(rows), uintptr(4*width))
	}
}
