// Package block computes hops and triangles from parts of the adjacency of a symmetric graph, where no process holds
// the whole graph. It knows nothing of stores, of files, and of how the parts travel.
//
// The nodes are cut in ranges. A Block is the part of A between some rows of one range and all columns of another.
// AddStrengths, AddRows and AddLabels add what a block gives to D, to a hop and to hop 1 of labels. FinishRow makes of
// the sums over all ranges what ops.Propagate makes of them: to the bit if there is one range; else sums of sums may
// round differently. AddTriangles takes the three blocks between three ranges: the sums over all such triples give
// diag(Ã³). The letters are those of package ops.
//
// Where arguments do not fit each other, or lists are malformed, functions return an error that says so.
package block

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// A Block is the part of a symmetric A between some rows of one range of nodes and all columns of another. Rows and
// columns are counted from zero, each in its range. Sums over the blocks of a row, in ascending columns, are those of
// the row of A.
//
// A Block does not change. Its methods may run concurrently, each with sums of its own.
type Block struct {
	columns int
	lists   kv.Adjacency
}

// New makes a block of so many columns. lists has a list for each row of lists.Range: columns, strictly ascending, and
// their weights, finite and greater than zero, or no weights if all are 1. The block keeps lists, which must not
// change.
func New(columns int, lists kv.Adjacency) (*Block, error) {
	if lists.End < lists.First {
		return nil, fmt.Errorf("%w: got the rows %d to %d, want an end of at least %d",
			kernel.ErrGraph, lists.First, lists.End, lists.First)
	}
	if err := kernel.CheckLists(&lists, lists.Range, columns, lists.Weights != nil); err != nil {
		return nil, err
	}
	return &Block{columns, lists}, nil
}

// Rows is the rows of the block.
func (b *Block) Rows() kv.Range { return b.lists.Range }

// AddStrengths adds to sums [rows] the parts of D that the block has: the weights of each row, or the number of its
// neighbours.
func (b *Block) AddStrengths(sums []float64, rows kv.Range) error {
	if err := b.checkSums(sums, rows, 1); err != nil {
		return err
	}
	for i := range sums {
		v := rows.First + kv.NodeID(i)
		sums[i] += kernel.Strength(b.lists.Of(v), kernel.WeightsOf(&b.lists, int(v-b.lists.First)))
	}
	return nil
}

// AddRows adds to sums, row-major [rows×width], the rows of x that are neighbours, each times its weight. Each sum runs
// in ascending columns, in float64.
func (b *Block) AddRows(sums []float64, rows kv.Range, x *Rows) error {
	if err := b.checkSums(sums, rows, x.width); err != nil {
		return err
	}
	if err := b.checkColumns(x.nodes); err != nil {
		return err
	}
	var padded []float64
	if x.rows.Stride > x.width { // the kernels add whole groups
		padded = make([]float64, x.rows.Stride)
	}
	for v := rows.First; v < rows.End; v++ {
		own := sums[int(v-rows.First)*x.width:][:x.width]
		whole := own
		if padded != nil {
			whole = padded
			copy(whole, own)
		}
		list, weights, readable := b.row(v)
		for first := 0; first < len(whole); first += kernel.MaxColumns {
			tile := whole[first:min(len(whole), first+kernel.MaxColumns)]
			kernel.AddRows(tile, x.rows, first, list, weights, readable)
		}
		if padded != nil {
			copy(own, whole)
		}
	}
	return nil
}

// row is the list of a row, with the weights, nil if all are 1, and how many columns can be read from its start on.
func (b *Block) row(v kv.NodeID) (list []kv.NodeID, weights []float32, readable int) {
	i := int(v - b.lists.First)
	return b.lists.Of(v), kernel.WeightsOf(&b.lists, i), len(b.lists.Neighbors) - int(b.lists.Offsets[i])
}

// AddLabels adds to sums, row-major [rows×l.Width()], what the labels of the neighbours u of each row give. With c
// classes, w the weight of u, and D_u its strength, a row is
//
//	0 … c-1     the votes: Σ w over the neighbours of the class
//	c … 2c-1    hop 1 of the labels: Σ w·D_u^(-1/2) over the neighbours of the class, with the rounding of ops.Propagate
//	2c          the number of labelled neighbours
//	2c+1        Σ w²/D_u over all neighbours, labelled or not: see ReturnAfterTwo
func (b *Block) AddLabels(sums []float64, rows kv.Range, l *Labels) error {
	width, c := l.Width(), l.classes
	if err := b.checkSums(sums, rows, width); err != nil {
		return err
	}
	if err := b.checkColumns(len(l.marks)); err != nil {
		return err
	}
	for v := rows.First; v < rows.End; v++ {
		own := sums[int(v-rows.First)*width:][:width]
		list, weights, readable := b.row(v)
		// Marks without a class add a zero to the number of labelled neighbours, which is after hop 1.
		votes, hop, labelled, back := own[:c], own[c:2*c+1], 0, own[2*c+1]
		for len(list) > 0 { // marks of a part are still in the cache when they are read again
			part := list[:min(kernel.Run, len(list))]
			of := weights
			if weights != nil {
				of, weights = weights[:len(part)], weights[len(part):]
			}
			kernel.AddMarks(hop, l.marks, 0, part, of, readable)
			for i, u := range part {
				w := 1.0
				if of != nil {
					w = float64(of[i])
				}
				if column := int(l.marks[u].Column); column < c {
					votes[column] += w
					labelled++
				}
				back += float64(float64(w*w) * l.inverses[u])
			}
			list, readable = list[len(part):], readable-len(part)
		}
		own[2*c] += float64(labelled)
		own[2*c+1] = back
	}
	return nil
}

// checkSums tells whether sums has a row of so many columns for each of some rows of the block.
func (b *Block) checkSums(sums []float64, rows kv.Range, width int) error {
	if rows.First < b.lists.First || rows.End > b.lists.End || rows.End < rows.First {
		return fmt.Errorf("%w: got the rows %d to %d, want a part of the rows %d to %d",
			kernel.ErrShape, rows.First, rows.End, b.lists.First, b.lists.End)
	}
	if want := rows.Len() * width; len(sums) != want {
		return fmt.Errorf("%w: got %d sums of %d columns for %d rows, want %d",
			kernel.ErrShape, len(sums), width, rows.Len(), want)
	}
	return nil
}

// checkColumns checks that there are as many nodes as columns.
func (b *Block) checkColumns(nodes int) error {
	if nodes != b.columns {
		return fmt.Errorf("%w: got rows or labels of %d nodes, want of the %d columns of the block",
			kernel.ErrShape, nodes, b.columns)
	}
	return nil
}

// Rows are the rows D^(-1/2)x [nodes×width] that blocks gather, of all nodes of a range of columns.
type Rows struct {
	nodes, width int
	rows         kernel.Slab
}

// NewRows makes rows of zeros. They take 4·nodes·width bytes, where a width of more than 2 counts in whole groups of 4.
func NewRows(nodes, width int) *Rows {
	w := kernel.Stride(width)
	return &Rows{nodes, width, kernel.Slab{Values: make([]float32, nodes*w), Stride: w}}
}

// Width is the number of columns.
func (x *Rows) Width() int { return x.width }

// Set sets the rows from first on to values, row-major [count×width], which are D^(-1/2)x already: those that FinishRow
// made for the next hop.
func (x *Rows) Set(first int, values []float32) error {
	count := len(values) / max(1, x.width)
	if len(values) != count*x.width || first < 0 || first > x.nodes-count {
		return fmt.Errorf("%w: got %d values of %d columns from row %d on, want whole rows of %d",
			kernel.ErrShape, len(values), x.width, first, x.nodes)
	}
	w := x.rows.Stride
	for i := range count {
		copy(x.rows.Values[(first+i)*w:][:w], values[i*x.width:][:x.width])
	}
	return nil
}

// Labels are the labels that blocks gather, with the strengths, of all nodes of a range of columns.
type Labels struct {
	classes  int
	marks    []kernel.Mark // those without a class have the column after the last
	inverses []float64     // δ
}

// NewLabels makes them from labels and D [nodes each]. They take 16 bytes a node, and keep neither argument.
func NewLabels(labels []kv.Class, strengths []float64, classes int) (*Labels, error) {
	if len(labels) != len(strengths) {
		return nil, fmt.Errorf("%w: got %d labels with %d strengths, want as many",
			kernel.ErrShape, len(labels), len(strengths))
	}
	l := &Labels{classes: classes, marks: make([]kernel.Mark, len(labels)), inverses: make([]float64, len(labels))}
	for u, strength := range strengths {
		l.marks[u] = kernel.Mark{Column: uint32(classes)}
		l.inverses[u] = kernel.Inverse(strength)
		switch class := labels[u]; {
		case class == kv.NoClass:
		case class < 0 || int(class) >= classes:
			return nil, fmt.Errorf("%w: node %d has class %d, want less than %d", kernel.ErrShape, u, class, classes)
		default:
			l.marks[u] = kernel.Mark{Column: uint32(class), Scale: float32(kernel.Scale(strength))}
		}
	}
	return l, nil
}

// Width is the number of columns of the sums: 2c+2 of c classes.
func (l *Labels) Width() int { return 2*l.classes + 2 }

// FinishRow makes a row of S_k X from the sums over all neighbours of a node, and the row D^(-1/2)x that the next hop
// gathers. All rows are as long as sums. strength is the node's entry of D; diagonal that of diag(Ã^k), by which input,
// its own row of X, is cleared. If diagonal is zero, as at hop 1, input is not read. At the last hop, next is nil.
func FinishRow(row, next, input []float32, sums []float64, strength, diagonal float64) {
	row = row[:len(sums)]
	if next != nil {
		next = next[:len(sums)]
	}
	if diagonal == 0 {
		input = row // which nothing is taken of
	}
	scale := kernel.Scale(strength)
	end := kernel.Ending{Scale: scale, Next: scale * scale, Diagonal: diagonal}
	kernel.FinishRow(row, next, input[:len(sums)], sums, end)
}

// ReturnAfterTwo is the entry of diag(Ã²) of a node: back is Σ w²/D_u over its neighbours, as AddLabels sums it.
func ReturnAfterTwo(strength, back float64) float64 { return kernel.Inverse(strength) * back }
