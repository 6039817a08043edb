package cleaner

import "github.com/graphcleaner/graphcleaner/kv"

// NeighborCounts count labelled neighbours of labelled nodes. They can be kept as JSON.
type NeighborCounts struct {
	Agreeing []int64 // neighbours with the label of the node, by it [c]
	All      []int64 // labelled neighbours by the label of the node [c]
}

// NewNeighborCounts are those of no nodes.
func NewNeighborCounts(classes int) *NeighborCounts {
	return &NeighborCounts{Agreeing: make([]int64, classes), All: make([]int64, classes)}
}

// Add counts the neighbours of a node: neighbors [c] are their numbers by label, whatever their weights. A node without
// a label adds nothing.
func (n *NeighborCounts) Add(label kv.Class, neighbors []float64) {
	if label == kv.NoClass {
		return
	}
	for _, count := range neighbors {
		n.All[label] += int64(count)
	}
	n.Agreeing[label] += int64(neighbors[label])
}

// homophily are statistics of the labels, of which nothing else is known.
func (n *NeighborCounts) homophily() *LabelStatistics {
	s := &LabelStatistics{Classes: make([]ClassStatistics, len(n.All))}
	s.setHomophily(n.Agreeing, n.All)
	return s
}

// isOf says whether they are of so many classes.
func (n *NeighborCounts) isOf(classes int) bool {
	return len(n.Agreeing) == classes && len(n.All) == classes
}
