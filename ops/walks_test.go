package ops

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// An arcGraph is a graph in memory that may have weights: a dense A, cut into blocks of so many nodes.
type arcGraph struct {
	nodes    int
	weights  map[[2]int]float32 // A_vu > 0 by v, u
	weighted bool
	block    int
	fail     error // returned by ReadAdjacency of the last block
}

// randomArcGraph draws an awkward graph: of few nodes or many, sparse or dense, with arcs one way and both ways.
func randomArcGraph(r *rand.Rand, directed, weighted bool) *arcGraph {
	g := &arcGraph{
		nodes: []int{1, 2, 3, 5, 9, 20, 45}[r.IntN(7)], weights: map[[2]int]float32{}, weighted: weighted, block: 1 +
			r.IntN(7),
	}
	scale := math.Pow(10, float64(r.IntN(7)-3))
	density := r.Float64() * r.Float64()
	for v := range g.nodes {
		for u := range g.nodes {
			if u == v || r.Float64() > density {
				continue
			}
			w := float32(1)
			if weighted {
				w = float32((0.01 + r.ExpFloat64()) * scale)
			}
			g.weights[[2]int{v, u}] = w
			if !directed || r.IntN(4) == 0 {
				g.weights[[2]int{u, v}] = w
			}
		}
	}
	return g
}

func (g *arcGraph) NumNodes() int { return g.nodes }

func (g *arcGraph) Weighted() bool { return g.weighted }

func (g *arcGraph) AdjacencyBlocks() ([]kv.Range, error) {
	var blocks []kv.Range
	for first := 0; first < g.nodes; first += g.block {
		blocks = append(blocks, kv.Range{First: kv.NodeID(first), End: kv.NodeID(min(g.nodes, first+g.block))})
	}
	return blocks, nil
}

func (g *arcGraph) ReadAdjacency(r kv.Range, buf *kv.Adjacency) error {
	if int(r.End) == g.nodes && g.fail != nil {
		return g.fail
	}
	*buf = kv.Adjacency{Range: r, Offsets: append(buf.Offsets[:0], 0), Neighbors: buf.Neighbors[:0]}
	for v := int(r.First); v < int(r.End); v++ {
		for u := range g.nodes {
			if w := g.weights[[2]int{v, u}]; w > 0 {
				buf.Neighbors = append(buf.Neighbors, kv.NodeID(u))
				buf.Weights = append(buf.Weights, w)
			}
		}
		buf.Offsets = append(buf.Offsets, int64(len(buf.Neighbors)))
	}
	if !g.weighted {
		buf.Weights = nil
	}
	return nil
}

func TestWalkDiagonalsSteps(t *testing.T) {
	ctx := context.Background()
	// From the hub 0 to each of three leaves and back: wedges u→v→w are 3·3 at the hub and 1 at a leaf.
	g := &arcGraph{nodes: 4, weights: map[[2]int]float32{}, weighted: true, block: 3}
	for leaf := 1; leaf < 4; leaf++ {
		g.weights[[2]int{0, leaf}], g.weights[[2]int{leaf, 0}] = 2, 2
	}
	for hops, want := range map[int]float64{
		3: 12, 4: 12 + 12,
		// Rows that a row of A² reaches: of the hub its own three times, six at most; of a leaf those of all leaves.
		5: 12 + 12 + 12 + 6 + 3*3,
	} {
		if got, err := DiagonalSteps(ctx, g, hops, Options{}); err != nil || got != want {
			t.Errorf("%d hops: got %v steps, %v, want %v", hops, got, err, want)
		}
	}
	broken := errors.New("disk on fire")
	g.fail = broken
	if _, err := ComputeDiagonals(ctx, g, Powers{Hops: 3}, Options{}); !errors.Is(err, broken) {
		t.Errorf("failing graph: got %v, want %v", err, broken)
	}
}

func TestWalkDiagonalsStop(t *testing.T) {
	g := randomArcGraph(rand.New(rand.NewPCG(3, 3)), true, true)
	g.block = 1
	for last := range MaxHops {
		ctx, cancel := context.WithCancel(context.Background())
		if last == 0 {
			cancel()
		}
		hops := 1
		opt := Options{Workers: 2, OnStage: func(s Stage) {
			if s.Name == "diagonal" {
				hops = s.Hop
			}
			if s.Name == "price" && last == 1 || s.Name == "diagonal" && s.Hop == last {
				cancel()
			}
		}}
		_, err := ComputeDiagonals(ctx, g, Powers{Hops: MaxHops}, opt)
		cancel()
		if !errors.Is(err, context.Canceled) || hops != max(last, 1) {
			t.Errorf("cancelled after hop %d: got %v after hop %d, want %v", last, err, hops, context.Canceled)
		}
	}
}

// A weightedList is a listGraph in which all edges have the same weight.
type weightedList struct {
	*listGraph
	weight float32
}

func (g weightedList) Weighted() bool { return true }

func (g weightedList) ReadAdjacency(r kv.Range, buf *kv.Adjacency) error {
	weights := buf.Weights
	if err := g.listGraph.ReadAdjacency(r, buf); err != nil {
		return err
	}
	buf.Weights = slices.Grow(weights[:0], len(buf.Neighbors))[:len(buf.Neighbors)]
	for i := range buf.Weights {
		buf.Weights[i] = g.weight
	}
	return nil
}
