//go:build !amd64 || purego

package nn

func multiplyTiles(tiles int, c []float32, stride int, a matrixView, k int, panel, start []float32, apart int) {
	multiplyPlainly(tiles, c, stride, a, k, panel, start, apart)
}

func multiplyStrips(*Rows, int, []float32, []float32, []float32) (done int) { return 0 }

func addToRows(c []float32, columns []uint32, values, row []float32, n int) {
	addToRowsPlainly(c, columns, values, row, n)
}
