package labelnoise

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
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

func labelled(labels []kv.Class) (count int) {
	for _, y := range labels {
		if y != kv.NoClass {
			count++
		}
	}
	return count
}

// inMemory has the graph predict by chance and label, in scratch arrays of a directory of the test.
func (g *Graph) inMemory(t *testing.T) {
	g.Scratch = scratch.Temporary(t.TempDir())
	g.Predict = func(_ context.Context, seed uint64) (*rowstore.Store, error) {
		s, err := rowstore.New(g.Scratch, len(g.Labels), g.Classes)
		if err != nil {
			return nil, err
		}
		r := rand.New(rand.NewPCG(seed, 0))
		for v, err := range g.Order {
			if err != nil {
				return nil, err
			}
			row, sum := make([]float32, g.Classes), float32(0)
			for j := range row {
				row[j] = float32(elementary.Exp(r.NormFloat64()))
				sum += row[j]
			}
			for j := range row {
				row[j] /= sum
			}
			if err := s.Write(kv.Range{First: v, End: v + 1}, 0, g.Classes, row); err != nil {
				return nil, err
			}
		}
		return s, nil
	}
}
