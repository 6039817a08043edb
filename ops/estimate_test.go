package ops

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// shapeOf is the Shape of a graph that was measured.
func shapeOf(s *Sizes) Shape {
	return Shape{
		Nodes: s.nodes, Linked: s.linked, Edges: s.edges(), MaxDegree: s.maxDegree, MaxRows: s.maxRows, MaxEntries: s.maxEntries,
		Directed: s.directed, Weighted: s.weighted,
	}
}

// A sample of all edges plans the diagonals as the graph itself does, whatever its form.
func TestSampleOfAllPlansAsTheGraph(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		graph := randomArcGraph(r, seed%2 == 0, seed%3 == 0)
		g := graph.graph()
		if !graph.directed && !graph.weighted {
			g = unweightedGraph{graph}
		}
		sizes := must.Get(Measure(t.Context(), g, Options{}))(t)
		var edges [][2]uint32
		for arc := range graph.weights {
			edges = append(edges, [2]uint32{uint32(arc[0]), uint32(arc[1])})
		}
		shape := shapeOf(sizes)
		sample, of := NewEdgeSample(graph.nodes, edges, 1, shape), SizesOf(shape)
		if of.ranked = sizes.ranked; *of != *sizes {
			t.Fatalf("seed %d: got sizes %+v, want %+v", seed, *of, *sizes)
		}
		if part := NewEdgeSample(graph.nodes, edges, .5, shape); sample.Linked() != sample.both.NumNodes() || part.Linked() != 0 {
			t.Errorf("seed %d: got %d nodes with neighbours, and %d of half the edges, want %d and 0", seed, sample.Linked(), part.Linked(), sample.both.NumNodes())
		}
		if graph.directed && sample.Arcs() != sizes.entries {
			t.Errorf("seed %d: got %d arcs, want %d", seed, sample.Arcs(), sizes.entries)
		}
		hops, opt := 1+int(seed%MaxHops), Options{MemoryBudget: 64 << 20, Workers: 2, MaxPrice: 40}
		want := must.Get(PlanDiagonals(t.Context(), g, hops, opt))(t)
		got := must.Get(sample.PlanDiagonals(t.Context(), of, hops, opt))(t)
		if (got.Refusal == nil) != (want.Refusal == nil) {
			t.Errorf("seed %d: got refused %v, want %v", seed, got.Refusal, want.Refusal)
		}
		got.Refusal, want.Refusal = nil, nil
		if got != want {
			t.Errorf("seed %d: got %+v, want %+v", seed, got, want)
		}
	}
}

// A plan says what ComputeDiagonals refuses, and nothing else.
func TestPlanRefusesAsComputingDoes(t *testing.T) {
	for _, g := range []Graph{rmat(8, 6, 1), listWeights(1)} {
		for hops := 1; hops <= MaxHops; hops++ {
			for _, limit := range []float64{1, 100, 1e6, 1e12} {
				opt := Options{MaxPrice: limit, MemoryBudget: 64 << 20, Workers: 1}
				plan := must.Get(PlanDiagonals(t.Context(), g, hops, opt))(t)
				d, err := ComputeDiagonals(t.Context(), g, hops, opt)
				if refused := errors.Is(err, ErrPrice); refused != (plan.Refusal != nil) {
					t.Errorf("%d hops for at most %g steps: planned %v, computing says %v", hops, limit, plan.Refusal, err)
				}
				if err == nil {
					must.Do(t, d.Close())
				}
			}
		}
	}
}
