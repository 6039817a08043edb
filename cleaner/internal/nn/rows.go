package nn

import (
	"math"
	"slices"
)

// Rows are inputs of a network, dense, or sparse where at most half of their numbers are not zero. A network with
// finite weights computes the same bits of both.
type Rows struct {
	Count, Width int

	dense []float32 // [Count×Width], row-major; of sparse rows nil

	// Of sparse rows: row r has values[i] in columns[i], ascending, for starts[r] ≤ i < ends[r]. Its other numbers are
	// zero.
	starts, ends []int
	columns      []uint32
	values       []float32
}

// Dense are rows whose numbers are all there [count×width], row-major. They keep the slice.
func Dense(values []float32, count, width int) Rows {
	return Rows{Count: count, Width: width, dense: values[:count*width]}
}

// Sparse are rows to fill, in memory for as many numbers that are not zero as counts [rows] says of each row. They keep
// columns and values.
func Sparse(width int, counts []int, columns []uint32, values []float32) Rows {
	offsets := make([]int, len(counts)+1)
	for r, count := range counts {
		offsets[r+1] = offsets[r] + count
	}
	return Rows{Count: len(counts), Width: width, starts: offsets[:len(counts)], ends: offsets[1:], columns: columns,
		values: values}
}

// Fill sets a sparse row [Width], which has as many numbers that are not zero as Sparse was told.
func (x *Rows) Fill(r int, row []float32) {
	at, end := x.starts[r], x.ends[r]
	for k, value := range row[:x.Width] {
		if isNotZero(value) != 0 {
			x.columns[at:end][0], x.values[at:end][0] = uint32(k), value
			at++
		}
	}
}

// isNotZero is 1 unless x is 0 or −0, without a branch.
func isNotZero(x float32) int {
	bits := math.Float32bits(x) << 1
	return int((bits | -bits) >> 31)
}

// AreSparse says whether rows with so many numbers that are not zero are better sparse. A number of a sparse row takes
// 8 bytes, and one of a dense row 4. In a product both take about as long.
func AreSparse(nonzero, rows, width int) bool { return 2*nonzero <= rows*width }

// Slice are rows first ≤ r < end, in the same memory.
func (x *Rows) Slice(first, end int) Rows {
	part := *x
	part.Count = end - first
	if !x.isSparse() {
		part.dense = x.dense[first*x.Width : end*x.Width]
		return part
	}
	part.starts, part.ends = x.starts[first:end], x.ends[first:end]
	return part
}

// Gather makes x copies of rows of from, dense.
func (x *Rows) Gather(from *Rows, rows []uint32, workers int) {
	width := from.Width
	x.Count, x.Width = len(rows), width
	x.dense = slices.Grow(x.dense[:0], len(rows)*width)[:len(rows)*width]
	share(workers, len(x.dense), len(rows), func(_, first, end int) {
		for at := first; at < end; at++ {
			to := x.dense[at*width:][:width]
			if !from.isSparse() {
				copy(to, from.dense[int(rows[at])*width:])
				continue
			}
			clear(to)
			columns, values := from.row(int(rows[at]))
			for i, column := range columns {
				to[column] = values[i]
			}
		}
	})
}

func (x *Rows) isSparse() bool { return x.starts != nil }

// numbers are how many a product multiplies in a column.
func (x *Rows) numbers() int {
	if !x.isSparse() {
		return x.Count * x.Width
	}
	count := 0
	for r, start := range x.starts {
		count += x.ends[r] - start
	}
	return count
}

// row are the numbers of a sparse row.
func (x *Rows) row(r int) (columns []uint32, values []float32) {
	return x.columns[x.starts[r]:x.ends[r]], x.values[x.starts[r]:x.ends[r]]
}

// compressed are dense rows made sparse in the memory of x if they are better so, and else dense themselves.
func (x *Rows) compressed(dense Rows) Rows {
	nonzero := CountNonzero(dense.dense)
	if !AreSparse(nonzero, dense.Count, dense.Width) {
		return dense
	}
	x.Count, x.Width = dense.Count, dense.Width
	x.starts, x.ends = x.starts[:0], x.ends[:0]
	room := nonzero + 1
	x.columns, x.values = slices.Grow(x.columns[:0], room)[:room], slices.Grow(x.values[:0], room)[:room]
	at := 0
	for r := range dense.Count {
		x.starts = append(x.starts, at)
		at += compress(x.columns[at:], x.values[at:], dense.dense[r*dense.Width:][:dense.Width])
		x.ends = append(x.ends, at)
	}
	return *x
}
