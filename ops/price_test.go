package ops

import (
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/kv"
)

func TestPriceCountsTheSteps(t *testing.T) {
	for seed := range uint64(longtest.Of(40, 200)) {
		g := awkwardGraph(rand.New(rand.NewPCG(seed, 3)))
		if seed%50 == 0 {
			g = shuffled(rmat(8, 5, seed), seed)
		}
		var ranks []rank
		{
			degrees := make([]uint32, len(g.lists))
			for v, list := range g.lists {
				degrees[v] = uint32(len(list))
			}
			if ranks = rankNodes(degrees); ranks == nil {
				for v := range degrees {
					ranks = append(ranks, rank(v))
				}
			}
		}
		probes, squares, ball := 0.0, 0.0, 0.0
		entriesFrom := func(v kv.NodeID) (entries int) {
			for _, u := range g.lists[v] {
				entries += len(g.lists[u])
			}
			return min(entries, g.entries())
		}
		for x, list := range g.lists {
			around := 0
			for _, u := range list {
				around += entriesFrom(u)
				for _, w := range list {
					if ranks[u] < ranks[w] && ranks[w] < ranks[x] {
						probes++
					}
				}
			}
			squares += float64(len(list) * len(list))
			ball += float64(min(around, g.entries()))
		}
		for hops := 3; hops <= MaxHops; hops++ {
			want := probes
			if hops >= 4 {
				want += squares
			}
			if hops >= 5 {
				want += squares + ball
			}
			got, err := DiagonalSteps(t.Context(), g, hops, Options{Workers: 2})
			if err != nil || got != want {
				t.Fatalf("seed %d, lists %v, %d hops: got %v steps, %v, want %v", seed, g.lists, hops, got, err, want)
			}
		}
	}
}

func TestRanks(t *testing.T) {
	if got := rankNodes([]uint32{5, 5, 2, 0}); got != nil {
		t.Errorf("descending degrees: got ranks %v, want nil for NodeIDs", got)
	}
	got := rankNodes([]uint32{1, 3, 0, 3})
	for v, want := range []rank{2, 0, 3, 1} {
		if got[v] != want {
			t.Errorf("degrees 1 3 0 3, node %d: got rank %d, want %d", v, got[v], want)
		}
	}
}
