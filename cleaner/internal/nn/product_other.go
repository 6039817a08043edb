//go:build !amd64 || purego

package nn

// multiplyTile is multiplyTilePlainly.
func multiplyTile(c []float32, stride int, a matrixView, k int, panel, start []float32) {
	multiplyTilePlainly(c, stride, a, k, panel, start)
}
