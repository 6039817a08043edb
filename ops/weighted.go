package ops

import (
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// A WeightedGraph is a Graph whose ReadAdjacency fills kv.Adjacency.Weights if Weighted says so: A_vu > 0, finite. In
// any other graph A_vu is 1. A_vu = A_uv.
type WeightedGraph interface {
	Graph
	Weighted() bool
}

func isWeighted(g Graph) bool {
	w, ok := g.(WeightedGraph)
	return ok && w.Weighted()
}

// takeStrengths notes the sums of the rows of some nodes.
func (s *survey) takeStrengths(adj *kv.Adjacency) {
	for i := range adj.Len() {
		v := adj.First + kv.NodeID(i)
		s.strengths[v] = kernel.Strength(adj.Of(v), kernel.WeightsOf(adj, i))
	}
}

// Edges is the number of edges.
func (s *Sizes) Edges() int64 { return s.Entries / 2 }

// entryBytes is the memory of an entry held.
func (s *Sizes) entryBytes() int64 {
	if s.Weighted {
		return 8
	}
	return 4
}

// scaleBytes is the memory of a node's degrees and strengths.
func (s *Sizes) scaleBytes() int64 {
	if s.Weighted {
		return 12
	}
	return 4
}
