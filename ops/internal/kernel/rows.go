package kernel

import "github.com/graphcleaner/graphcleaner/kv"

// Run is how many neighbours are walked for some columns before other columns of the same rows, which are then still in
// the cache, take their turn.
const Run = 256

// GroupColumns is how many columns the vectorized kernels add at once.
const GroupColumns = 4

// MaxColumns is two cache lines of float32, which a processor fetches together. The kernels keep the sums of so many
// columns in registers.
const MaxColumns = 32

// A Slab is consecutive rows of a matrix: row u begins at values[(u-first)·stride].
type Slab struct {
	Values []float32
	First  kv.NodeID
	Stride int
}

// A Mark is a node's entry in labels of one column a class: scale in a column and zero in all others. Nodes without an
// entry have the column behind the last.
type Mark struct {
	Column uint32
	Scale  float32
}

// Stride is the length of a row for width columns: whole groups, except for the narrowest.
func Stride(width int) int {
	if width <= 2 {
		return width
	}
	return (width + GroupColumns - 1) &^ (GroupColumns - 1)
}

// addRowsPlainly is AddRows for every processor.
func addRowsPlainly(sums []float64, rows Slab, column int, neighbors []kv.NodeID) {
	for len(neighbors) > 0 {
		part := neighbors[:min(Run, len(neighbors))]
		neighbors = neighbors[len(part):]
		j := 0
		for ; j+8 <= len(sums); j += 8 {
			add8((*[8]float64)(sums[j:]), rows, column+j, part)
		}
		for ; j+GroupColumns <= len(sums); j += GroupColumns {
			add4((*[4]float64)(sums[j:]), rows, column+j, part)
		}
		for ; j < len(sums); j++ {
			sum := sums[j]
			for _, u := range part {
				sum += float64(rows.Values[int(u-rows.First)*rows.Stride+column+j])
			}
			sums[j] = sum
		}
	}
}

// add8 keeps its eight sums in registers.
func add8(sums *[8]float64, rows Slab, column int, neighbors []kv.NodeID) {
	s0, s1, s2, s3, s4, s5, s6, s7 := sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]
	for _, u := range neighbors {
		row := (*[8]float32)(rows.Values[int(u-rows.First)*rows.Stride+column:])
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

func add4(sums *[4]float64, rows Slab, column int, neighbors []kv.NodeID) {
	s0, s1, s2, s3 := sums[0], sums[1], sums[2], sums[3]
	for _, u := range neighbors {
		row := (*[4]float32)(rows.Values[int(u-rows.First)*rows.Stride+column:])
		s0 += float64(row[0])
		s1 += float64(row[1])
		s2 += float64(row[2])
		s3 += float64(row[3])
	}
	sums[0], sums[1], sums[2], sums[3] = s0, s1, s2, s3
}

// addMarksPlainly is AddMarks for every processor.
func addMarksPlainly(sums []float64, marks []Mark, first kv.NodeID, neighbors []kv.NodeID) {
	for _, u := range neighbors {
		m := marks[u-first]
		sums[m.Column] += float64(m.Scale)
	}
}

// An Ending is what becomes of the sums of a row.
type Ending struct {
	Scale    float64 // an entry of D^(-1/2)
	Next     float64 // times that by which the next hop's rows are kept
	Diagonal float64 // what is cleared of a row's own input
}

// Value is an entry of S_k X from the sum over the neighbours; the difference is rounded once.
func (e Ending) Value(sum float64, input float32) float32 {
	x := float64(e.Scale * sum)
	if e.Diagonal != 0 {
		x -= float64(e.Diagonal * float64(input)) // rounded by itself, also if a processor could fuse the two
	}
	return float32(x)
}

// finishRowPlainly is FinishRow for every processor.
func finishRowPlainly(row, next, input []float32, sums []float64, e Ending) {
	for j := range row {
		row[j] = e.Value(sums[j], input[j])
	}
	for j := range next {
		next[j] = float32(e.Next * sums[j])
	}
}
