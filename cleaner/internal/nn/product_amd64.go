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
