//go:build !amd64 || purego

package labelmodel

func weigh(utility []float64, x []float32, weights []float64, classes, width int) {
	weighPlainly(utility, x, weights, classes, width)
}

func judge(chance, excess []float64, posterior []float32, likelihood, noise []float64, kinds []int32, classes int) {
	judgePlainly(chance, excess, posterior, likelihood, noise, kinds, classes)
}

func addLines(sums []float64, x []float32, of sweepScratch, classes, width int) {
	addLinesPlainly(sums, x, of, classes, width)
}

func (f *labelFit) countFlips(counts *lines, first, end int, _ []float32) {
	f.countFlipsPlainly(counts, first, end)
}
