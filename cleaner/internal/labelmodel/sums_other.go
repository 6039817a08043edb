//go:build !amd64 || purego

package labelmodel

func weigh(utility []float64, x []float32, weights []float64, stride int) {
	weighPlainly(utility, x, weights, stride)
}

func (f *labelFit) addRows(first, end int, of sweepScratch, sums []float64) {
	f.addRowsPlainly(first, end, of, sums)
}
