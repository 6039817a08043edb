package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
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
	rows, err := agreementRows(context.Background(), g, labels, predictions, tested, hops, newPlace(t), opt)
	if err != nil {
		t.Fatalf("agreement features, %d hops: %v", hops, err)
	}
	var z [][]float32
	for _, one := range rows {
		z = append(z, slices.Clone(one.values.Data))
		must.Do(t, one.Close())
	}
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

// denseFeatures is the definition of AgreementFeatures, written plainly.
func denseFeatures(g kvtest.MemoryGraph, labels []kv.Class, predictions rowsSource, tested []kv.Class, hops int) []float64 {
	n, c := len(g), predictions.width
	normalized := mat.NewDense(n, n, nil)
	for v, neighbors := range g {
		for _, u := range neighbors {
			normalized.Set(v, int(u), 1/math.Sqrt(float64(len(g[v])*len(g[u]))))
		}
	}
	p, y := mat.NewDense(n, c, nil), mat.NewDense(n, c, nil)
	for v := range n {
		for j := range c {
			p.Set(v, j, float64(predictions.values[v*c+j]))
		}
		if labels[v] != kv.NoClass {
			y.Set(v, int(labels[v]), 1)
		}
	}
	width := 2*hops + 1
	z := make([]float64, n*width)
	put := func(f int, x *mat.Dense) {
		for v, label := range tested {
			z[v*width+f] = math.NaN()
			if label != kv.NoClass {
				z[v*width+f] = x.At(v, int(label))
			}
		}
	}
	put(0, p)
	power := mat.DenseCopyOf(normalized)
	for k := 1; k <= hops; k++ {
		if k > 1 {
			var next mat.Dense
			next.Mul(power, normalized)
			power.Copy(&next)
		}
		cleared := mat.DenseCopyOf(power)
		for v := range n {
			cleared.Set(v, v, 0)
		}
		var pk, yk mat.Dense
		pk.Mul(cleared, p)
		yk.Mul(cleared, y)
		put(k, &pk)
		put(hops+k, &yk)
	}
	return z
}

func TestFeaturesEqualTheDefinition(t *testing.T) {
	for seed := range uint64(250) {
		r := rand.New(rand.NewPCG(seed, 0))
		n, c, hops := 1+r.IntN(30), 1+r.IntN(5), 1+int(seed%5)
		g, labels, p := awkwardGraph(r, n), kvtest.AwkwardLabels(r, n, c), randomPredictions(r, n, c)
		tested := [][]kv.Class{labels, kvtest.AwkwardLabels(r, n, c), slices.Repeat([]kv.Class{kv.NoClass}, n)}
		z := mustFeatures(t, g, labels, p, tested, hops, ops.Options{Workers: 1 + r.IntN(3)})
		for i := range tested {
			want := denseFeatures(g, labels, p, tested[i], hops)
			for at := range want {
				if !golden.Near(float64(z[i][at]), want[at], 1e-5) {
					t.Fatalf("seed %d: %d nodes, %d classes, %d hops, vector %d, node %d, feature %d: got %v, want %v",
						seed, n, c, hops, i, at/(2*hops+1), at%(2*hops+1), z[i][at], want[at])
				}
			}
		}
	}
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
	array := func(rows int) *scratch.Array[float32] {
		values := must.Get(scratch.New[float32](nil, "", rows*width))(t)
		return values
	}
	gather := gathering{
		problem:    problem{graph: g, diagonals: diagonals, labels: labels, predictions: p},
		labellings: []labelling{{labels: all}, {nodes: set, labels: byRank}, {nodes: set, labels: byRank}},
		z:          []*agreement{byColumn(array(n), n, width), byRow(array(20), 20, width), byColumn(array(20), 20, width)},
		hops:       hops, reach: hops,
	}
	must.Do(t, gather.run(context.Background(), ops.Options{MemoryBudget: 1 << 20}))
	row := func(z *agreement, r int) []float32 {
		values := make([]float32, width)
		must.Do(t, z.Read(kv.Range{First: kv.NodeID(r), End: kv.NodeID(r + 1)}, 0, width, values))
		return values
	}
	for _, v := range nodes {
		rank, _ := set.has(v)
		want := row(gather.z[0], int(v))
		for _, z := range gather.z[1:] {
			for f, got := range row(z, rank) {
				if math.Float32bits(got) != math.Float32bits(want[f]) {
					t.Fatalf("node %d, feature %d: got %v among some nodes, %v among all", v, f, got, want[f])
				}
			}
		}
	}
}

func TestFeaturesAreTheSameBits(t *testing.T) {
	const n, c, hops = 400, 9, 4
	r := rand.New(rand.NewPCG(9, 0))
	g, labels, p := awkwardGraph(r, n), kvtest.AwkwardLabels(r, n, c), randomPredictions(r, n, c)
	var first []float32
	for _, workers := range []int{1, 2, 4} {
		for _, budget := range []int64{0, 64 << 10, 1 << 20} {
			z := mustFeatures(t, g, labels, p, [][]kv.Class{labels}, hops, ops.Options{Workers: workers, MemoryBudget: budget})[0]
			if first == nil {
				first = z
			}
			for i := range z {
				if math.Float32bits(z[i]) != math.Float32bits(first[i]) {
					t.Fatalf("%d workers, %d bytes, node %d: got %v, with 1 worker %v", workers, budget, i/(2*hops+1), z[i], first[i])
				}
			}
		}
	}
}

func TestFeaturesAreCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g, labels := kvtest.NewMemoryGraph(3, [][2]kv.NodeID{{0, 1}}), []kv.Class{0, 1, 0}
	opt := ops.Options{MemoryBudget: 1 << 20}
	if _, err := agreementRows(ctx, g, labels, rowsSource{2, make([]float32, 6)}, [][]kv.Class{labels}, 2, newPlace(t), opt); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v, want context.Canceled", err)
	}
}

func TestEachRowsReadsAllOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 0))
	for _, width := range []int{1, 7, rowstore.BlockValues/3 + 1, rowstore.BlockValues + 1} { // from many rows a block to one
		n := min(5, 1+4*rowstore.BlockValues/width)
		if width < 10 {
			n = 2*rowstore.BlockValues/width + 3
		}
		src := rowsSource{width: width, values: make([]float32, n*width)}
		for i := range src.values {
			src.values[i] = r.Float32()
		}
		for _, workers := range []int{1, 3} {
			seen := make([]int32, n)
			err := rowstore.Each(context.Background(), src, n, workers, func(rows kv.Range, values []float32) error {
				if !slices.Equal(values, src.values[int(rows.First)*width:int(rows.End)*width]) {
					return fmt.Errorf("rows %d to %d: other values than the source's", rows.First, rows.End)
				}
				for v := rows.First; v < rows.End; v++ {
					seen[v]++
				}
				return nil
			})
			if err != nil {
				t.Errorf("%d columns, %d workers: %v", width, workers, err)
			}
			for v, times := range seen {
				if times != 1 {
					t.Fatalf("%d columns, %d workers: row %d was visited %d times, want once", width, workers, v, times)
				}
			}
		}
	}
	wrong := errors.New("wrong")
	err := rowstore.Each(context.Background(), rowsSource{width: 1, values: make([]float32, 10)}, 10, 2, func(kv.Range, []float32) error { return wrong })
	if !errors.Is(err, wrong) {
		t.Errorf("a visit that fails: got %v, want its error", err)
	}
}

// TestFeaturesOfAPath has three nodes. Nodes a and c are given class 0, b class 1; a label of class 0 agrees with a's
// predictions by 0.9, with its neighbour's by S_1 = 1/√2 of 0.2, and with nothing at one hop, whose label is 1.
func TestFeaturesOfAPath(t *testing.T) {
	path, given := kvtest.NewMemoryGraph(3, [][2]kv.NodeID{{0, 1}, {1, 2}}), []kv.Class{0, 1, 0}
	predictions := rowsSource{width: 2, values: []float32{0.9, 0.1, 0.2, 0.8, 0.6, 0.4}}
	z := mustFeatures(t, path, given, predictions, [][]kv.Class{given}, 2, ops.Options{})
	if got, want := fmt.Sprintf("%.3f", z[0][:5]), "[0.900 0.141 0.300 0.000 0.500]"; got != want {
		t.Errorf("P0 P1 P2 L1 L2 of node 0: got %s, want %s", got, want)
	}
}
