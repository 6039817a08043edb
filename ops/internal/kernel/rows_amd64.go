//go:build !purego

package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/graphcleaner/graphcleaner/kv"
)

// vectorized tells whether the kernels in assembly can be used. They check no bounds: neighbors must be rows of the
// slab. Sums are in float64, and neither fused with a product nor reordered: they are those of the plain kernels.
var vectorized = cpu.X86.HasAVX2

// mostGroups is how many groups of columns the kernels have registers for.
const mostGroups = MaxColumns / GroupColumns

// addGroups adds so many groups of four columns, 1 to mostGroups. The rows begin at rows, stride bytes apart, with that
// of node base. readable ≥ count is how many neighbours may be read, so that rows beyond the list are prefetched.
//
//go:noescape
func addGroups(
	sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable, groups int)

// addWeightedGroups adds each row times the weight of its neighbour.
//
//go:noescape
func addWeightedGroups(
	sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable, groups int,
	weights *float32)

//go:noescape
func addLabelled(sums *float64, marks *Mark, base uintptr, neighbors *kv.NodeID, count, readable int)

// finishGroups finishes whole groups of a row. next is nil if there is no next hop, input where nothing is cleared.
//
//go:noescape
func finishGroups(row, next, input *float32, sums *float64, groups int, scale, squared, diagonal float64)

// AddRows adds to sums the columns from column on of the rows that neighbors names, each times its weight, 1 if weights
// is nil; each column by itself, in the order of neighbors and in float64. readable ≥ len(neighbors) numbers can be
// read from there on, for prefetching.
func AddRows(
	sums []float64, rows Slab, column int, neighbors []kv.NodeID, weights []float32, readable int,
) {
	groups := len(sums) / GroupColumns
	switch {
	case !vectorized || len(sums)%GroupColumns != 0 || groups > mostGroups:
		addRowsPlainly(sums, rows, column, neighbors, weights)
	case len(neighbors) == 0 || groups == 0:
	case weights == nil:
		addGroups(&sums[0], &rows.Values[column], uintptr(4*rows.Stride), uintptr(rows.First),
			unsafe.SliceData(neighbors), len(neighbors), readable, groups)
	default:
		addWeightedGroups(&sums[0], &rows.Values[column], uintptr(4*rows.Stride), uintptr(rows.First),
			unsafe.SliceData(neighbors), len(neighbors), readable, groups, &weights[:len(neighbors)][0])
	}
}

// AddMarks adds to sums, which have an entry more than there are columns, the marks of neighbors, as AddRows does rows.
func AddMarks(
	sums []float64, marks []Mark, first kv.NodeID, neighbors []kv.NodeID, weights []float32, readable int,
) {
	if !vectorized || weights != nil || len(neighbors) == 0 {
		addMarksPlainly(sums, marks, first, neighbors, weights)
		return
	}
	addLabelled(&sums[0], &marks[0], uintptr(first), unsafe.SliceData(neighbors), len(neighbors), readable)
}

// FinishRow makes of the sums of a row what is visited and, unless next is nil, what the next hop reads. Where row is
// not whole groups, row and input are read and written up to the end of the last group; next has a number for each sum.
func FinishRow(row, next, input []float32, sums []float64, e Ending) {
	short := cap(row) < len(sums) || cap(input) < len(sums) || next != nil && len(next) < len(sums)
	if !vectorized || len(sums)%GroupColumns != 0 || short {
		finishRowPlainly(row, next, input, sums, e)
		return
	}
	reset := unsafe.SliceData(input)
	if e.Diagonal == 0 {
		reset = nil
	}
	finishGroups(unsafe.SliceData(row), unsafe.SliceData(next), reset, &sums[0], len(sums)/GroupColumns,
		e.Scale, e.Next, e.Diagonal)
}
