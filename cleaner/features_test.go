package cleaner

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/internal/testing/golden"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

func mustFeatures(
	t *testing.T, g ops.Graph, labels []kv.Class, predictions ops.Source, tested [][]kv.Class, hops int,
	opt ops.Options,
) [][]float32 {
	t.Helper()
	if opt.MemoryBudget == 0 {
		opt.MemoryBudget = machine.MemoryBudget()
	}
	p := problem{graph: g, labels: labels, predictions: predictions, classes: predictions.Width(), place: newPlace(t)}
	diagonals := must.Get(p.place.Diagonals(t.Context(), g, hops, opt))(t)
	p.diagonals = diagonals.Diagonals
	var labellings []labelling
	for _, one := range tested {
		labellings = append(labellings, labelling{labels: one})
	}
	var z [][]float32
	for _, one := range must.Get(p.gather(t.Context(), labellings, hops, hops, featureWidth(hops), opt))(t) {
		values := make([]float32, one.Rows*one.Width())
		must.Do(t, one.Read(kv.Range{End: kv.NodeID(one.Rows)}, 0, one.Width(), values))
		z = append(z, values)
		must.Do(t, one.Close())
	}
	must.Do(t, diagonals.Close())
	return z
}

// everyClass has one vector of labels under test a class, all nodes given it: their features are all of P_k and Y_k.
func everyClass(n, c int) [][]kv.Class {
	tested := make([][]kv.Class, c)
	for x := range tested {
		tested[x] = slices.Repeat([]kv.Class{kv.Class(x)}, n)
	}
	return tested
}

func TestGoldenFeatures(t *testing.T) {
	golden.Each(t, "testdata/golden", func(t *testing.T, g golden.Graph) {
		graph := kvtest.NewMemoryGraph(g.N, g.Edges)
		p := rowsSource{width: g.Classes, values: g.Predictions32()}
		tested := append([][]kv.Class{g.Labels, g.TestedLabels}, everyClass(g.N, g.Classes)...)
		for hops := 1; hops <= g.Hops; hops++ {
			z := mustFeatures(t, graph, g.Labels, p, tested, hops, ops.Options{})
			width := 2*hops + 1
			// The golden rows have K columns of each kind for the file's own K.
			column := func(f int) int {
				if f <= hops {
					return f
				}
				return f - hops + g.Hops
			}
			for v := range g.N {
				for f := range width {
					for i, want := range [][][]float64{g.Agreement, g.TestedAgreement} {
						got := float64(z[i][v*width+f])
						if tested[i][v] == kv.NoClass {
							if !math.IsNaN(got) {
								t.Fatalf("%d hops, vector %d, unlabelled node %d, feature %d: got %v, want NaN", hops, i, v, f, got)
							}
							continue
						}
						if !golden.Near(got, want[v][column(f)], 1e-5) {
							t.Fatalf("%d hops, vector %d, node %d, feature %d: got %v, want %v", hops, i, v, f, got, want[v][column(f)])
						}
					}
				}
				for x := range g.Classes {
					row := z[2+x][v*width:][:width]
					for k := range hops {
						if got, want := float64(row[1+k]), g.PredictionsK[k][v][x]; !golden.Near(got, want, 1e-5) {
							t.Fatalf("P_%d of node %d, class %d: got %v, want %v", k+1, v, x, got, want)
						}
						if got, want := float64(row[1+hops+k]), g.LabelsK[k][v][x]; !golden.Near(got, want, 1e-5) {
							t.Fatalf("Y_%d of node %d, class %d: got %v, want %v", k+1, v, x, got, want)
						}
					}
				}
			}
		}
	})
}

// The labellings of a few nodes in any order have the rows of the labellings of all.
func TestFeaturesOfSomeNodes(t *testing.T) {
	const n, c, hops = 50, 4, 3
	r := rand.New(rand.NewPCG(5, 0))
	g, labels, p := awkwardGraph(r, n), kvtest.AwkwardLabels(r, n, c), randomPredictions(r, n, c)
	nodes := make([]kv.NodeID, 0, n)
	for _, v := range r.Perm(n)[:20] {
		nodes = append(nodes, kv.NodeID(v))
	}
	some := make([]kv.Class, len(nodes))
	all := slices.Repeat([]kv.Class{kv.NoClass}, n)
	for i, v := range nodes {
		some[i] = kv.Class(r.IntN(c+1)) - 1
		all[v] = some[i]
	}
	set := newNodeSet(n)
	for _, v := range nodes {
		set.add(v)
	}
	set.count()
	byRank := make([]kv.Class, len(nodes))
	for i, v := range nodes {
		rank, _ := set.has(v)
		byRank[rank] = some[i]
	}
	diagonals := must.Get(ops.ComputeDiagonals(context.Background(), g, ops.Powers{Hops: hops}, ops.Options{}))(t)
	width := featureWidth(hops)
	of := problem{graph: g, diagonals: diagonals, labels: labels, predictions: p}
	z := must.Get(of.gather(t.Context(), []labelling{{labels: all}, {nodes: set, labels: byRank}}, hops, hops, width,
		ops.Options{MemoryBudget: 1 << 20}))(t)
	row := func(z *rowstore.Store, r int) []float32 {
		values := make([]float32, width)
		must.Do(t, z.Read(kv.Range{First: kv.NodeID(r), End: kv.NodeID(r + 1)}, 0, width, values))
		return values
	}
	for _, v := range nodes {
		rank, _ := set.has(v)
		want := row(z[0], int(v))
		for f, got := range row(z[1], rank) {
			if math.Float32bits(got) != math.Float32bits(want[f]) {
				t.Fatalf("node %d, feature %d: got %v among some nodes, %v among all", v, f, got, want[f])
			}
		}
	}
}
