package cleaner

import (
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// memoryGraph is the ops.Graph of adjacency lists in memory, ascending, in blocks of a few nodes.
type memoryGraph [][]kv.NodeID

// newMemoryGraph makes the simple undirected graph of edges: self loops dropped, parallel edges collapsed.
func newMemoryGraph(n int, edges [][2]kv.NodeID) memoryGraph {
	g := make(memoryGraph, n)
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

func (g memoryGraph) NumNodes() int { return len(g) }

func (g memoryGraph) AdjacencyBlocks() ([]kv.Range, error) {
	const step = 7
	var blocks []kv.Range
	for first := 0; first < len(g); first += step {
		blocks = append(blocks, kv.Range{First: kv.NodeID(first), End: kv.NodeID(min(first+step, len(g)))})
	}
	return blocks, nil
}

func (g memoryGraph) ReadAdjacency(r kv.Range, buf *kv.Adjacency) error {
	buf.Range = r
	buf.Offsets, buf.Neighbors = append(buf.Offsets[:0], 0), buf.Neighbors[:0]
	for v := r.First; v < r.End; v++ {
		buf.Neighbors = append(buf.Neighbors, g[v]...)
		buf.Offsets = append(buf.Offsets, int64(len(buf.Neighbors)))
	}
	return nil
}

// rowsSource is the ops.Source of a dense matrix in memory.
type rowsSource struct {
	width  int
	values []float32
}

func (s rowsSource) Width() int { return s.width }

func (s rowsSource) Read(rows kv.Range, lo, hi int, dst []float32) error {
	for v := int(rows.First); v < int(rows.End); v++ {
		copy(dst[(v-int(rows.First))*(hi-lo):], s.values[v*s.width+lo:v*s.width+hi])
	}
	return nil
}

// randomPredictions are n rows of c probabilities.
func randomPredictions(r *rand.Rand, n, c int) rowsSource {
	values := make([]float32, n*c)
	for v := range n {
		row := make([]float64, c)
		var sum float64
		for j := range row {
			row[j] = r.ExpFloat64()
			sum += row[j]
		}
		for j := range row {
			values[v*c+j] = float32(row[j] / sum)
		}
	}
	return rowsSource{width: c, values: values}
}

// awkwardGraph has n nodes, of which some are isolated and one may be adjacent to nearly all.
func awkwardGraph(r *rand.Rand, n int) memoryGraph {
	var edges [][2]kv.NodeID
	connected := 1 + r.IntN(n)
	for range r.IntN(3 * n) {
		edges = append(edges, [2]kv.NodeID{kv.NodeID(r.IntN(connected)), kv.NodeID(r.IntN(connected))})
	}
	if r.IntN(3) == 0 {
		for v := range connected {
			edges = append(edges, [2]kv.NodeID{0, kv.NodeID(v)})
		}
	}
	return newMemoryGraph(n, edges)
}

// awkwardLabels leaves about one in five nodes unlabelled, and may leave classes out.
func awkwardLabels(r *rand.Rand, n, c int) []kv.Class {
	used := 1 + r.IntN(c)
	labels := make([]kv.Class, n)
	for v := range labels {
		labels[v] = kv.Class(r.IntN(used))
		if r.IntN(5) == 0 {
			labels[v] = kv.NoClass
		}
	}
	return labels
}

func normals(r *rand.Rand, n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(r.NormFloat64())
	}
	return values
}

func identityOrder(n int) nodeOrder {
	return func(yield func(kv.NodeID, error) bool) {
		for v := range n {
			if !yield(kv.NodeID(v), nil) {
				return
			}
		}
	}
}

// listOrder is an order of nodes by a list.
func listOrder(nodes []kv.NodeID) nodeOrder {
	return func(yield func(kv.NodeID, error) bool) {
		for _, v := range nodes {
			if !yield(v, nil) {
				return
			}
		}
	}
}
