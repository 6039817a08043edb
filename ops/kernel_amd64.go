//go:build !purego

package ops

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/graphcleaner/graphcleaner/kv"
)

// vectorized tells whether the kernels in assembly can be used. They check no bounds: neighbors must be rows of the
// slab. Sums are in float64, and neither fused with a product nor reordered: they are those of the plain kernels.
var vectorized = cpu.X86.HasAVX2

// addGroups1 to addGroups8 add so many groups of four columns. The rows begin at rows, stride bytes apart, with that of
// node base. readable ≥ count is how many neighbours may be read, so that rows beyond the list are prefetched.
//
//go:noescape
func addGroups1(sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int)

//go:noescape
func addGroups2(sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int)

//go:noescape
func addGroups3(sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int)

//go:noescape
func addGroups4(sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int)

//go:noescape
func addGroups5(sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int)

//go:noescape
func addGroups6(sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int)

//go:noescape
func addGroups7(sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int)

//go:noescape
func addGroups8(sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int)

// addPair adds the groups of columns left and right bytes into the rows to the first two groups of sums.
//
//go:noescape
func addPair(
	sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int, left, right uintptr)

//go:noescape
func addLabelled(sums *float64, marks *mark, base uintptr, neighbors *kv.NodeID, count, readable int)

// finishGroups is finishRow of whole groups. next is nil where there is no next hop, input where nothing is cleared.
//
//go:noescape
func finishGroups(row, next, input *float32, sums *float64, groups int, scale, squared, diagonal float64)

// addRows adds to sums the columns from column on of the rows that neighbors names, each column by itself, in the order
// of neighbors and in float64. readable ≥ len(neighbors) numbers can be read from there on, for prefetching.
func addRows(sums []float64, rows slab, column int, neighbors []kv.NodeID, readable int) {
	if !vectorized || len(sums)%groupColumns != 0 {
		addRowsPlainly(sums, rows, column, neighbors)
		return
	}
	if len(neighbors) == 0 || len(sums) == 0 {
		return
	}
	from, size, base := &rows.values[column], uintptr(4*rows.stride), uintptr(rows.first)
	list, count := unsafe.SliceData(neighbors), len(neighbors)
	switch sum := &sums[0]; len(sums) / groupColumns {
	case 1:
		addGroups1(sum, from, size, base, list, count, readable)
	case 2:
		addGroups2(sum, from, size, base, list, count, readable)
	case 3:
		addGroups3(sum, from, size, base, list, count, readable)
	case 4:
		addGroups4(sum, from, size, base, list, count, readable)
	case 5:
		addGroups5(sum, from, size, base, list, count, readable)
	case 6:
		addGroups6(sum, from, size, base, list, count, readable)
	case 7:
		addGroups7(sum, from, size, base, list, count, readable)
	case 8:
		addGroups8(sum, from, size, base, list, count, readable)
	default:
		addRowsPlainly(sums, rows, column, neighbors)
	}
}

// addTwoGroups adds two groups of columns of the rows that neighbors names to the groups of sums at the same places.
func addTwoGroups(sums []float64, rows slab, left, right int, neighbors []kv.NodeID, readable int) {
	if !vectorized || len(neighbors) == 0 {
		addRowsPlainly(sums[left:left+groupColumns], rows, left, neighbors)
		addRowsPlainly(sums[right:right+groupColumns], rows, right, neighbors)
		return
	}
	var pair [2 * groupColumns]float64
	copy(pair[:groupColumns], sums[left:])
	copy(pair[groupColumns:], sums[right:])
	addPair(&pair[0], &rows.values[0], uintptr(4*rows.stride), uintptr(rows.first),
		unsafe.SliceData(neighbors), len(neighbors), readable, uintptr(4*left), uintptr(4*right))
	copy(sums[left:], pair[:groupColumns])
	copy(sums[right:], pair[groupColumns:])
}

// addMarks adds to sums, which have an entry more than there are columns, the marks of neighbors.
func addMarks(sums []float64, marks []mark, first kv.NodeID, neighbors []kv.NodeID, readable int) {
	if !vectorized || len(neighbors) == 0 {
		addMarksPlainly(sums, marks, first, neighbors)
		return
	}
	addLabelled(&sums[0], &marks[0], uintptr(first), unsafe.SliceData(neighbors), len(neighbors), readable)
}

// finishRow makes of the sums of a row what is visited and, unless next is nil, what the next hop reads. Where row is
// not whole groups, row and input are read and written up to the end of the last group; next has a number for each sum.
func finishRow(row, next, input []float32, sums []float64, e ending) {
	short := cap(row) < len(sums) || cap(input) < len(sums) || next != nil && len(next) < len(sums)
	if !vectorized || len(sums)%groupColumns != 0 || short {
		finishRowPlainly(row, next, input, sums, e)
		return
	}
	cleared := unsafe.SliceData(input)
	if e.diagonal == 0 {
		cleared = nil
	}
	finishGroups(unsafe.SliceData(row), unsafe.SliceData(next), cleared, &sums[0], len(sums)/groupColumns,
		e.scale, e.next, e.diagonal)
}
