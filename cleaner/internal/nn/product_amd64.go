//go:build !purego

package nn

import "golang.org/x/sys/cpu"

// multiplyVectors is multiplyTilePlainly, without checks of bounds; strides are in bytes. k ≥ 1. Products and sums are
// rounded one by one: the bits are those of the plain kernel.
//
//go:noescape
func multiplyVectors(c *float32, stride uintptr, a *float32, row, column uintptr, k int, panel, start *float32)

// multiplyTile is multiplyTilePlainly.
func multiplyTile(c []float32, stride int, a matrixView, k int, panel, start []float32) {
	if !cpu.X86.HasAVX2 || k == 0 {
		multiplyTilePlainly(c, stride, a, k, panel, start)
		return
	}
	// The ends of what is reached.
	_ = c[(tileRows-1)*stride+tileColumns-1]
	_ = a.data[(tileRows-1)*a.row+(k-1)*a.column]
	_, _ = panel[k*tileColumns-1], start[tileColumns-1]
	multiplyVectors(&c[0], uintptr(4*stride), &a.data[0], uintptr(4*a.row), uintptr(4*a.column), k, &panel[0], &start[0])
}
