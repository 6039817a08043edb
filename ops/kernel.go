package ops

import "github.com/graphcleaner/graphcleaner/kv"

// run is how many neighbours are walked for some columns before other columns of the same rows, which are then still in
// the cache, take their turn.
const run = 256

// groupColumns is how many columns the vectorized kernels add at once.
const groupColumns = 4

// A slab is consecutive rows of a matrix: row u begins at values[(u-first)·stride].
type slab struct {
	values []float32
	first  kv.NodeID
	stride int
}

// A mark is a node's entry in labels of one column a class: scale in a column and zero in all others. Nodes without an
// entry have the column behind the last.
type mark struct {
	column uint32
	scale  float32
}

// stride is the length of a row for width columns: whole groups, except for the narrowest.
func stride(width int) int {
	if width <= 2 {
		return width
	}
	return (width + groupColumns - 1) &^ (groupColumns - 1)
}

// addRowsPlainly is addRows for every processor.
func addRowsPlainly(sums []float64, rows slab, column int, neighbors []kv.NodeID) {
	for len(neighbors) > 0 {
		part := neighbors[:min(run, len(neighbors))]
		neighbors = neighbors[len(part):]
		j := 0
		for ; j+8 <= len(sums); j += 8 {
			add8((*[8]float64)(sums[j:]), rows, column+j, part)
		}
		for ; j+groupColumns <= len(sums); j += groupColumns {
			add4((*[4]float64)(sums[j:]), rows, column+j, part)
		}
		for ; j < len(sums); j++ {
			sum := sums[j]
			for _, u := range part {
				sum += float64(rows.values[int(u-rows.first)*rows.stride+column+j])
			}
			sums[j] = sum
		}
	}
}

// add8 keeps its eight sums in registers.
func add8(sums *[8]float64, rows slab, column int, neighbors []kv.NodeID) {
	s0, s1, s2, s3, s4, s5, s6, s7 := sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]
	for _, u := range neighbors {
		row := (*[8]float32)(rows.values[int(u-rows.first)*rows.stride+column:])
		s0 += float64(row[0])
		s1 += float64(row[1])
		s2 += float64(row[2])
		s3 += float64(row[3])
		s4 += float64(row[4])
		s5 += float64(row[5])
		s6 += float64(row[6])
		s7 += float64(row[7])
	}
	sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7] = s0, s1, s2, s3, s4, s5, s6, s7
}

func add4(sums *[4]float64, rows slab, column int, neighbors []kv.NodeID) {
	s0, s1, s2, s3 := sums[0], sums[1], sums[2], sums[3]
	for _, u := range neighbors {
		row := (*[4]float32)(rows.values[int(u-rows.first)*rows.stride+column:])
		s0 += float64(row[0])
		s1 += float64(row[1])
		s2 += float64(row[2])
		s3 += float64(row[3])
	}
	sums[0], sums[1], sums[2], sums[3] = s0, s1, s2, s3
}

// addMarksPlainly is addMarks for every processor.
func addMarksPlainly(sums []float64, marks []mark, first kv.NodeID, neighbors []kv.NodeID) {
	for _, u := range neighbors {
		m := marks[u-first]
		sums[m.column] += float64(m.scale)
	}
}

// An ending is what becomes of the sums of a row.
type ending struct {
	scale    float64 // an entry of D^(-1/2)
	next     float64 // times that by which the next hop's rows are kept
	diagonal float64 // what is cleared of a row's own input
}

// value is an entry of S_k X from the sum over the neighbours; the difference is rounded once.
func (e ending) value(sum float64, input float32) float32 {
	x := float64(e.scale * sum)
	if e.diagonal != 0 {
		x -= float64(e.diagonal * float64(input)) // rounded by itself, also if a processor could fuse the two
	}
	return float32(x)
}

// finishRowPlainly is finishRow for every processor.
func finishRowPlainly(row, next, input []float32, sums []float64, e ending) {
	for j := range row {
		row[j] = e.value(sums[j], input[j])
	}
	for j := range next {
		next[j] = float32(e.next * sums[j])
	}
}
