//go:build !amd64 || purego

package nn

func multiplyTiles(t tile, tiles int, c []float32, stride int, a matrixView, k int, panel, start []float32, apart int) {
	multiplyPlainly(t, tiles, c, stride, a, k, panel, start, apart)
}

func copyPieces(to, from []float32, stride, pieces int) { copyPlainly(to, from, stride, pieces) }

// fetchRows does nothing: the rows are waited for.
func fetchRows([]float32, []uint32, int) {}
