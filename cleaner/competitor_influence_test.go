package cleaner

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/graphcleaner/graphcleaner/internal/kvtest"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// plainInfluence is ε (I − (1−ε) Â)^(-1).
func plainInfluence(g kvtest.MemoryGraph, epsilon float64) *mat.Dense {
	n := len(g)
	m, t := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
	root := func(v int) float64 { return math.Sqrt(float64(len(g[v]) + 1)) }
	for v, list := range g {
		m.Set(v, v, 1-(1-epsilon)/(root(v)*root(v)))
		for _, u := range list {
			m.Set(v, int(u), -(1-epsilon)/(root(v)*root(int(u))))
		}
	}
	if err := t.Inverse(m); err != nil {
		panic(err)
	}
	t.Scale(epsilon, t)
	return t
}

func TestContradictionsAreTheirDefinition(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 0))
		n, c := 1+r.IntN(40), 1+r.IntN(20)
		g := awkwardGraph(r, n)
		p := voteTrial(g, kvtest.AwkwardLabels(r, n, c), c)
		p.place = newPlace(t)
		got, err := p.contradictions(ctx, Options{Workers: 1, MemoryBudget: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		influence := plainInfluence(g, 0.15)
		given := countLabels(p.labels, c)
		for v := range n {
			want := 0.0
			for u := range n {
				if y := p.labels[u]; y != kv.NoClass && y != p.labels[v] {
					want += influence.At(v, u) / given[y]
				}
			}
			// Walks of more than 30 steps are left out, and those that are counted are rounded to float32.
			if short := want - got[v]; short < -1e-5*want || short > 0.01 {
				t.Errorf("seed %d, node %d: got %v, want %v", seed, v, got[v], want)
			}
		}
		again, err := p.contradictions(ctx, Options{Workers: 3, MemoryBudget: 1 << 24})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, again) {
			t.Errorf("seed %d: other workers and memory give %v, want %v", seed, again, got)
		}
	}
}

func TestInfluenceContradictionFindsAPlantedLabel(t *testing.T) {
	var edges [][2]kv.NodeID // two cliques, joined by an edge, and a node alone
	for v := range kv.NodeID(6) {
		for u := range v {
			edges = append(edges, [2]kv.NodeID{u, v}, [2]kv.NodeID{6 + u, 6 + v})
		}
	}
	labels := []kv.Class{0, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0}
	p := voteTrial(kvtest.NewMemoryGraph(13, append(edges, [2]kv.NodeID{0, 6})), labels, 2)
	result := runMethod(t, p, "influence-contradiction", Options{})
	for v, flagged := range result.flagged {
		if flagged != (v == 3) {
			t.Errorf("node %d: flagged %v with score %v, want node 3 alone", v, flagged, result.scores[v])
		}
	}
	if result.scores[12] > slices.Min(result.scores[:12]) {
		t.Errorf("the node without neighbours has score %v, want the least of %v", result.scores[12], result.scores)
	}
	_, err := influenceContradiction(context.Background(), p, Options{MemoryBudget: problemBytes*13 + 8})
	var budget *ops.BudgetError
	if !errors.As(err, &budget) {
		t.Errorf("8 bytes to propagate: got %v, want a BudgetError", err)
	}
}
