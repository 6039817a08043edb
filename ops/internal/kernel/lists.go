// Package kernel has the inner loops of ops and ops/block: it adds up rows of matrices, and finds common neighbours.
// They are in assembly where a processor has AVX2, and in Go for all others and under the build tag purego, with the
// same bits. It knows nothing of graphs on disk.
//
// The loops check no bounds: every number of a list must name a row that there is. CheckLists says so of lists.
package kernel

import (
	"errors"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/kv"
)

var (
	// ErrGraph marks adjacency that is malformed, such as a neighbour that is not a node.
	ErrGraph = errors.New("ops: malformed adjacency")

	// ErrShape marks arguments that do not fit each other.
	ErrShape = errors.New("ops: arguments do not fit")
)

// CheckLists tells whether adj has the lists of the rows want, ascending, of numbers below columns. Kernels rely on it,
// which check no bounds.
func CheckLists(adj *kv.Adjacency, want kv.Range, columns int, weighted bool) error {
	rows := want.Len()
	if adj.Range != want || len(adj.Offsets) != rows+1 {
		return fmt.Errorf("%w: got the lists of nodes %d to %d with %d offsets, want nodes %d to %d",
			ErrGraph, adj.First, adj.End, len(adj.Offsets), want.First, want.End)
	}
	if first, end := adj.Offsets[0], adj.Offsets[rows]; first != 0 || end != int64(len(adj.Neighbors)) {
		return fmt.Errorf("%w: the lists of nodes %d to %d are at %d to %d, want 0 to %d",
			ErrGraph, adj.First, adj.End, first, end, len(adj.Neighbors))
	}
	for i := range rows {
		from, to := adj.Offsets[i], adj.Offsets[i+1]
		if to < from || to > int64(len(adj.Neighbors)) {
			return fmt.Errorf("%w: the list of node %d is at %d to %d, want an end of %d to %d",
				ErrGraph, int(want.First)+i, from, to, from, len(adj.Neighbors))
		}
		list := adj.Neighbors[from:to]
		if len(list) == 0 {
			continue
		}
		if last := list[len(list)-1]; int(last) >= columns {
			return fmt.Errorf("%w: node %d has the neighbour %d, want less than %d",
				ErrGraph, int(want.First)+i, last, columns)
		}
		if !ascends(list) {
			return fmt.Errorf("%w: the neighbours of node %d do not ascend", ErrGraph, int(want.First)+i)
		}
	}
	return checkWeights(adj, weighted)
}

// ascends looks at all steps of a list together: one that is not up has a sign.
func ascends(list []kv.NodeID) bool {
	before, steps := list[0], int64(0)
	for _, u := range list[1:] {
		steps |= int64(u) - int64(before) - 1
		before = u
	}
	return steps >= 0
}

// WeightsOf returns the weights of list i of adj, nil if all are 1.
func WeightsOf(adj *kv.Adjacency, i int) []float32 {
	if adj.Weights == nil {
		return nil
	}
	return adj.Weights[adj.Offsets[i]:adj.Offsets[i+1]]
}

// Strength is the sum of a list's weights, ascending by neighbour.
func Strength(list []kv.NodeID, weights []float32) float64 {
	if weights == nil {
		return float64(len(list))
	}
	sum := 0.0
	for _, w := range weights {
		sum += float64(w)
	}
	return sum
}

// checkWeights guards what a weighted graph says of its weights.
func checkWeights(adj *kv.Adjacency, weighted bool) error {
	if !weighted {
		if adj.Weights != nil {
			return fmt.Errorf("%w: got weights for nodes %d to %d of an unweighted graph", ErrGraph, adj.First, adj.End)
		}
		return nil
	}
	if len(adj.Weights) != len(adj.Neighbors) {
		return fmt.Errorf("%w: got %d weights for the %d neighbours of nodes %d to %d",
			ErrGraph, len(adj.Weights), len(adj.Neighbors), adj.First, adj.End)
	}
	for _, w := range adj.Weights {
		if !(w > 0 && w <= math.MaxFloat32) {
			return fmt.Errorf("%w: got the weight %v at nodes %d to %d, want one that is finite and greater than 0",
				ErrGraph, w, adj.First, adj.End)
		}
	}
	return nil
}

// Scale is the entry of D^(-1/2) of a node by its strength, an entry of D: zero for a node without weight.
func Scale(strength float64) float64 {
	if strength == 0 {
		return 0
	}
	return 1 / math.Sqrt(strength)
}

// Inverse is δ of a node by its strength, and zero for one without weight.
func Inverse(strength float64) float64 {
	if strength == 0 {
		return 0
	}
	return 1 / strength
}
