package ops

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestWeightsOfOne compares a graph whose weights are all 1, or all the same power of two, with the simple one, bit for
// bit at every hop: the roots of the strengths are those of the degrees, times a power of two.
func TestWeightsOfOne(t *testing.T) {
	ctx := context.Background()
	g := rmat(8, 5, 1)
	n, c := g.NumNodes(), 9
	x := randomRows(rand.New(rand.NewPCG(2, 0)), n, c)
	for _, w := range []float32{1, 4} {
		for _, op := range []Operator{{Hops: 3}, {Hops: 2, SelfLoops: true}} {
			if op.SelfLoops && w != 1 {
				continue
			}
			want := must.Get(collect(ctx, g, Dense(x, c), op, Options{}))(t)
			got := must.Get(collect(ctx, weightedList{g, w}, Dense(x, c), op, Options{}))(t)
			for k := range got {
				if !slices.Equal(got[k], want[k]) {
					t.Errorf("weight %v, self loops %v: hop %d differs", w, op.SelfLoops, k+1)
				}
			}
		}
	}
}

func TestMalformedArcs(t *testing.T) {
	ctx := context.Background()
	arcs := map[[2]int]float32{{0, 1}: 1, {1, 0}: 2}
	for name, g := range map[string]Graph{
		"no weights": unweightedGraph{&arcGraph{nodes: 2, weights: arcs, weighted: true, block: 1}},
		"weights":    simpleGraph{&arcGraph{nodes: 2, weights: arcs, weighted: true, block: 1}},
		"negative":   listWeights(-1),
		"infinite":   listWeights(float32(math.Inf(1))),
	} {
		if _, err := Degrees(ctx, g, Options{}); !errors.Is(err, ErrGraph) {
			t.Errorf("%s: got error %v, want ErrGraph", name, err)
		}
	}
}

// An unweightedGraph says that it has weights and yields none.
type unweightedGraph struct{ *arcGraph }

func (g unweightedGraph) ReadAdjacency(r kv.Range, buf *kv.Adjacency) error {
	err := g.arcGraph.ReadAdjacency(r, buf)
	buf.Weights = nil
	return err
}

// A simpleGraph says that it has no weights and yields some.
type simpleGraph struct{ Graph }

// listWeights is a graph of an edge with a weight.
func listWeights(w float32) Graph { return weightedList{newListGraph(2, [][2]int{{0, 1}}), w} }
