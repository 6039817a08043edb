//go:build !amd64 || purego

package kernel

import "github.com/graphcleaner/graphcleaner/kv"

// AddRows adds to sums the columns from column on of the rows that neighbors names, each times its weight, 1 if weights
// is nil; each column by itself, in the order of neighbors and in float64. How many numbers can be read is for
// prefetching.
func AddRows(sums []float64, rows Slab, column int, neighbors []kv.NodeID, weights []float32, _ int) {
	addRowsPlainly(sums, rows, column, neighbors, weights)
}

// AddMarks adds to sums, which have an entry more than there are columns, the marks of neighbors, as AddRows does rows.
func AddMarks(sums []float64, marks []Mark, first kv.NodeID, neighbors []kv.NodeID, weights []float32, _ int) {
	addMarksPlainly(sums, marks, first, neighbors, weights)
}

// FinishRow makes of the sums of a row what is visited and, unless next is nil, what the next hop reads.
func FinishRow(row, next, input []float32, sums []float64, e Ending) {
	finishRowPlainly(row, next, input, sums, e)
}
