//go:build !purego

package nn

import "golang.org/x/sys/cpu"

// multiplyTilesVectors is multiplyPlainly. k and tiles ≥ 1. It checks no bounds, and rounds products and sums one by
// one: the bits are those of the plain one. Strides are in bytes.
//
//go:noescape
func multiplyTilesVectors(
	c *float32, stride uintptr, a *float32, row, column uintptr, k int, panel, start *float32, apart uintptr, tiles int,
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
	multiplyTilesVectors(&c[0], uintptr(4*stride), &a.data[0], uintptr(4*a.row), uintptr(4*a.column), k, &panel[0],
		&start[0], uintptr(4*apart), tiles)
}
