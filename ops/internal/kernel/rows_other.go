//go:build !amd64 || purego

package kernel

import "github.com/graphcleaner/graphcleaner/kv"

// AddRows adds to sums the columns from column on of the rows that neighbors names, each column by itself, in the order
// of neighbors and in float64. How many numbers can be read behind neighbors is for prefetching only.
func AddRows(sums []float64, rows Slab, column int, neighbors []kv.NodeID, _ int) {
	addRowsPlainly(sums, rows, column, neighbors)
}

// AddWeightedRows is AddRows with each row times the weight of its neighbour.
func AddWeightedRows(sums []float64, rows Slab, column int, neighbors []kv.NodeID, weights []float32, _ int) {
	addWeightedRowsPlainly(sums, rows, column, neighbors, weights)
}

// AddTwoGroups adds two groups of columns of the rows that neighbors names to the groups of sums at the same places.
func AddTwoGroups(sums []float64, rows Slab, left, right int, neighbors []kv.NodeID, _ int) {
	addRowsPlainly(sums[left:left+GroupColumns], rows, left, neighbors)
	addRowsPlainly(sums[right:right+GroupColumns], rows, right, neighbors)
}

// AddMarks adds to sums, which have an entry more than there are columns, the marks of neighbors.
func AddMarks(sums []float64, marks []Mark, first kv.NodeID, neighbors []kv.NodeID, _ int) {
	addMarksPlainly(sums, marks, first, neighbors)
}

// FinishRow makes of the sums of a row what is visited and, unless next is nil, what the next hop reads.
func FinishRow(row, next, input []float32, sums []float64, e Ending) {
	finishRowPlainly(row, next, input, sums, e)
}
