package cleaner

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/golden"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// An arcFile is rows of an edges file, with all that is wanted of them computed densely in float64 from its definition.
type arcFile struct {
	name        string
	nodes       int
	src, dst    []int
	weights     []float32 // nil: unweighted
	directed    bool
	labels      []kv.Class
	predictions [][]float32
	powers      [][][]float64 // of Ã [n×n], 1..K
	classes     int
}

const arcFileHops = 4

// arcFiles are two awkward directed graphs, two weighted ones and one that is both.
func arcFiles() []*arcFile {
	star := &arcFile{name: "directed star with an isolated node, loops and arcs back", nodes: 8, directed: true}
	for v := 1; v < 7; v++ {
		star.add(0, v, 1)
		if v%2 == 0 {
			star.add(v, 0, 1)
		}
		star.add(v, v, 1)
		star.add(v, 1+v%6, 1)
	}
	chain := &arcFile{name: "directed chain into a cycle, with parallel arcs", nodes: 9, directed: true}
	for v := range 8 {
		chain.add(v, v+1, 1)
		chain.add(v, v+1, 1)
	}
	chain.add(8, 5, 1)
	chain.add(7, 5, 1)
	clique := &arcFile{name: "weights of many sizes that add up", nodes: 7, weights: []float32{}}
	for v := range 6 {
		for u := range v {
			clique.add(v, u, float32(math.Pow(10, float64(v-3))))
			clique.add(u, v, 0.5)
		}
	}
	r := rand.New(rand.NewPCG(5, 5))
	tail := &arcFile{name: "random weights with a heavy tail", nodes: 30, weights: []float32{}}
	both := &arcFile{name: "random arcs with weights", nodes: 30, weights: []float32{}, directed: true}
	for range 120 {
		u, v := r.IntN(30), r.IntN(1+r.IntN(30))
		tail.add(u, v, float32(r.ExpFloat64()*r.ExpFloat64())+1e-3)
		both.add(v, u, float32(1+r.IntN(4)))
	}
	files := []*arcFile{star, chain, clique, tail, both}
	for i, g := range files {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		g.classes = 3
		for v := range g.nodes {
			class := kv.Class(r.IntN(g.classes))
			if v%7 == 3 {
				class = kv.NoClass
			}
			g.labels = append(g.labels, class)
			row := make([]float32, g.classes)
			for j, x := range []int{1 + r.IntN(8), 1 + r.IntN(4), 0} {
				row[j] = float32(x) / 16 // exact, so that rows sum to 1
			}
			row[2] = 1 - row[0] - row[1]
			g.predictions = append(g.predictions, row)
		}
		g.labels[0], g.labels[1], g.labels[2] = 0, 1, 2
	}
	return files
}

func (g *arcFile) add(src, dst int, weight float32) {
	g.src, g.dst = append(g.src, src), append(g.dst, dst)
	if g.weights != nil {
		g.weights = append(g.weights, weight)
	}
}

// compute fills powers: Ã^k = (D^(-1/2) A D^(-1/2))^k, k = 1..4.
func (g *arcFile) compute() {
	n := g.nodes
	matrix := func() [][]float64 {
		m := make([][]float64, n)
		for v := range m {
			m[v] = make([]float64, n)
		}
		return m
	}
	arcs := matrix()
	for i := range g.src {
		if g.src[i] == g.dst[i] {
			continue
		}
		if g.weights == nil {
			arcs[g.src[i]][g.dst[i]] = 1
		} else {
			arcs[g.src[i]][g.dst[i]] += float64(g.weights[i])
		}
	}
	// Weights are kept as float32: of every arc, or of every edge.
	a := matrix()
	for v := range n {
		for u := range n {
			if g.directed {
				arcs[v][u] = float64(float32(arcs[v][u]))
			}
		}
	}
	for v := range n {
		for u := range n {
			if a[v][u] = float64(float32(arcs[v][u] + arcs[u][v])); g.weights == nil {
				a[v][u] = max(arcs[v][u], arcs[u][v])
			}
		}
	}
	degrees := make([]float64, n)
	for v := range n {
		for u := range n {
			degrees[v] += a[v][u]
		}
	}
	for v := range n {
		for u := range n {
			if a[v][u] > 0 {
				a[v][u] /= math.Sqrt(degrees[v] * degrees[u])
			}
		}
	}
	g.powers = [][][]float64{a}
	for k := 1; k < arcFileHops; k++ {
		next := matrix()
		for v := range n {
			for u := range n {
				for w := range n {
					next[v][u] += g.powers[k-1][v][w] * a[w][u]
				}
			}
		}
		g.powers = append(g.powers, next)
	}
}

// features is Z [n][2K+1] of the labels given; NaN where there is none.
func (g *arcFile) features() [][]float64 {
	var z [][]float64
	for v, y := range g.labels {
		row := slices.Repeat([]float64{math.NaN()}, featureWidth(arcFileHops))
		if y != kv.NoClass {
			row[0] = float64(g.predictions[v][y])
			for k, power := range g.powers {
				row[1+k], row[1+arcFileHops+k] = 0, 0
				for u := range g.nodes {
					if u == v {
						continue
					}
					row[1+k] += power[v][u] * float64(g.predictions[u][y])
					if g.labels[u] == y {
						row[1+arcFileHops+k] += power[v][u]
					}
				}
			}
		}
		z = append(z, row)
	}
	return z
}

func className(y kv.Class) string {
	if y == kv.NoClass {
		return ""
	}
	return fmt.Sprint("c", y)
}

// load makes a store of the file with its predictions, and returns the node of each row.
func (g *arcFile) load(t *testing.T) (*kv.Store, []kv.NodeID) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "graph")
	l := must.Get(kv.NewLoader(t.Context(), dir,
		kv.LoadOptions{MemoryBudget: 16 << 20, Directed: g.directed, Weighted: g.weights != nil}))(t)
	for v, y := range g.labels {
		must.Do(t, l.AddNode(kv.Node{ID: fmt.Sprint(v), Label: className(y)}))
	}
	w := l.EdgeWriter()
	for i := range g.src {
		weight := float32(1)
		if g.weights != nil {
			weight = g.weights[i]
		}
		must.Do(t, w.AddWeighted(fmt.Sprint(g.src[i]), fmt.Sprint(g.dst[i]), weight, int64(i)))
	}
	must.Get(l.Commit(context.Background(), nil))(t)
	s, err := kv.Open(dir, kv.Options{MemoryBudget: 16 << 20})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	nodes := make([]kv.NodeID, g.nodes)
	view(t, s, func(tx *kv.Tx) error {
		for i := range nodes {
			if nodes[i], err = tx.Node(fmt.Sprint(i)); err != nil {
				return err
			}
		}
		return nil
	})
	var classes []string
	for y := range kv.Class(g.classes) {
		classes = append(classes, className(y))
	}
	must.Do(t, importPredictions(s, classes, PredictionOptions{}, func(w *PredictionWriter, _ *kv.Tx) error {
		for i, v := range nodes {
			row := make([]float64, g.classes)
			for j, p := range g.predictions[i] {
				row[j] = float64(p)
			}
			must.Do(t, w.Put(v, row))
		}
		return nil
	}))
	return s, nodes
}

func TestDirectionsAndWeightsAreTheirDefinition(t *testing.T) {
	for _, g := range arcFiles() {
		t.Run(g.name, func(t *testing.T) {
			s, nodes := g.load(t)
			g.compute()
			view(t, s, func(tx *kv.Tx) error {
				return g.checkFeatures(t, tx, nodes)
			})
		})
	}
}

// checkFeatures compares those of all nodes, and those that Explain computes of one.
func (g *arcFile) checkFeatures(t *testing.T, tx *kv.Tx, nodes []kv.NodeID) error {
	t.Helper()
	z := must.Get(Features(context.Background(), tx, arcFileHops, ops.Options{}))(t)
	row := make([]float32, z.Width())
	for v, want := range g.features() {
		must.Do(t, z.Read(kv.Range{First: nodes[v], End: nodes[v] + 1}, 0, len(row), row))
		for f := range want {
			if !golden.Near(float64(row[f]), want[f], 1e-5) {
				t.Errorf("node %d, feature %d: got %v, want %v", v, f, row[f], want[f])
			}
		}
		if g.labels[v] == kv.NoClass {
			continue
		}
		d, err := newDossier(t.Context(), tx, nodes[v])
		if err == nil {
			err = d.lookAround(t.Context(), arcFileHops, ops.Options{})
		}
		if err != nil {
			return err
		}
		explained := d.around.features(g.labels[v], make([]float32, 1+arcFileHops))
		for f, want := range slices.Concat(want[:1], want[1+arcFileHops:]) {
			if got := float64(explained[f]); !golden.Near(got, want, 1e-5) {
				t.Errorf("node %d, feature %d explained: got %v, want %v", v, f, got, want)
			}
		}
	}
	return z.Close()
}
