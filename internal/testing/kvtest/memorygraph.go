package kvtest

import (
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A MemoryGraph is the ops.Graph of adjacency lists in memory, ascending, in blocks of a few nodes.
type MemoryGraph [][]kv.NodeID

// NewMemoryGraph makes the simple undirected graph of edges: self loops dropped, parallel edges collapsed.
func NewMemoryGraph(n int, edges [][2]kv.NodeID) MemoryGraph {
	g := make(MemoryGraph, n)
	for _, e := range edges {
		if e[0] != e[1] {
			g[e[0]] = append(g[e[0]], e[1])
			g[e[1]] = append(g[e[1]], e[0])
		}
	}
	for v := range g {
		slices.Sort(g[v])
		g[v] = slices.Compact(g[v])
	}
	return g
}

// NumNodes is that of an ops.Graph.
func (g MemoryGraph) NumNodes() int { return len(g) }

// AdjacencyBlocks is that of an ops.Graph.
func (g MemoryGraph) AdjacencyBlocks() ([]kv.Range, error) {
	const step = 7
	var blocks []kv.Range
	for first := 0; first < len(g); first += step {
		blocks = append(blocks, kv.Range{First: kv.NodeID(first), End: kv.NodeID(min(first+step, len(g)))})
	}
	return blocks, nil
}

// ReadAdjacency is that of an ops.Graph.
func (g MemoryGraph) ReadAdjacency(r kv.Range, buf *kv.Adjacency) error {
	buf.Range = r
	buf.Offsets, buf.Neighbors = append(buf.Offsets[:0], 0), buf.Neighbors[:0]
	for v := r.First; v < r.End; v++ {
		buf.Neighbors = append(buf.Neighbors, g[v]...)
		buf.Offsets = append(buf.Offsets, int64(len(buf.Neighbors)))
	}
	return nil
}

// AwkwardLabels leaves about one in five nodes unlabelled, and may leave classes out.
func AwkwardLabels(r *rand.Rand, n, c int) []kv.Class {
	classes := 1 + r.IntN(c)
	labels := make([]kv.Class, n)
	for v := range labels {
		labels[v] = kv.Class(r.IntN(classes))
		if r.IntN(5) == 0 {
			labels[v] = kv.NoClass
		}
	}
	return labels
}
