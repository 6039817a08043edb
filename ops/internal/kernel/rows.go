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

// A Slab is consecutive rows of a matrix: row u begins at Values[(u-First)·Stride].
type Slab struct {
	Values []float32
	First  kv.NodeID
	Stride int
}

// A Mark is a node's entry in labels of one column a class: Scale in a column and zero in all others. Nodes without an
// entry have the column after the last.
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

// An Ending finishes the sums of a row.
type Ending struct {
	Scale    float64 // an entry of D^(-1/2)
	Next     float64 // times that by which the next hop's rows are kept
	Diagonal float64 // the factor of a row's own input to take away
}

// Value is an entry of S_k X from the sum over the neighbours; the difference is rounded once.
func (e Ending) Value(sum float64, input float32) float32 {
	x := float64(e.Scale * sum)
	if e.Diagonal != 0 {
		x -= float64(e.Diagonal * float64(input)) // rounded by itself, also if a processor could fuse the two
	}
	return float32(x)
}

// finishRowPlainly does what FinishRow does, in Go.
func finishRowPlainly(row, next, input []float32, sums []float64, e Ending) {
	for j := range row {
		row[j] = e.Value(sums[j], input[j])
	}
	for j := range next {
		next[j] = float32(e.Next * sums[j])
	}
}
