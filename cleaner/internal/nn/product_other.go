//go:build !amd64 || purego

package nn

func multiplyTiles(tiles int, c []float32, stride int, a matrixView, k int, panel, start []float32, apart int) {
	multiplyPlainly(tiles, c, stride, a, k, panel, start, apart)
}
