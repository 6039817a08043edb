//go:build !amd64 || purego

package ops

import "github.com/graphcleaner/graphcleaner/kv"

// addRows adds to sums the columns from column on of the rows that neighbors names, each column by itself, in the order
// of neighbors and in float64. How many numbers can be read behind neighbors is for prefetching only.
func addRows(sums []float64, rows slab, column int, neighbors []kv.NodeID, _ int) {
	addRowsPlainly(sums, rows, column, neighbors)
}

// addWeightedRows is addRows with each row times the weight of its neighbour.
func addWeightedRows(sums []float64, rows slab, column int, neighbors []kv.NodeID, weights []float32, _ int) {
	addWeightedRowsPlainly(sums, rows, column, neighbors, weights)
}

// addTwoGroups adds two groups of columns of the rows that neighbors names to the groups of sums at the same places.
func addTwoGroups(sums []float64, rows slab, left, right int, neighbors []kv.NodeID, _ int) {
	addRowsPlainly(sums[left:left+groupColumns], rows, left, neighbors)
	addRowsPlainly(sums[right:right+groupColumns], rows, right, neighbors)
}

// addMarks adds to sums, which have an entry more than there are columns, the marks of neighbors.
func addMarks(sums []float64, marks []mark, first kv.NodeID, neighbors []kv.NodeID, _ int) {
	addMarksPlainly(sums, marks, first, neighbors)
}

// finishRow makes of the sums of a row what is visited and, unless next is nil, what the next hop reads.
func finishRow(row, next, input []float32, sums []float64, e ending) {
	finishRowPlainly(row, next, input, sums, e)
}
