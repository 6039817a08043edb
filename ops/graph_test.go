package ops

import (
	"context"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"gonum.org/v1/gonum/mat"

	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(memdir.Tests(m)) }

// A listGraph is a Graph in memory, cut into blocks of 1, block, 1, block … nodes.
type listGraph struct {
	lists [][]kv.NodeID
	block int
	fail  error // returned by ReadAdjacency of the last block
}

func newListGraph(n int, edges [][2]int) *listGraph {
	g := &listGraph{lists: make([][]kv.NodeID, n), block: 3}
	for _, e := range edges {
		u, v := e[0], e[1]
		if u != v {
			g.lists[u] = append(g.lists[u], kv.NodeID(v))
			g.lists[v] = append(g.lists[v], kv.NodeID(u))
		}
	}
	for v := range g.lists {
		slices.Sort(g.lists[v])
		g.lists[v] = slices.Compact(g.lists[v])
	}
	return g
}

// byDegree numbers the nodes by descending degree, as the bulk load does.
func (g *listGraph) byDegree() *listGraph {
	order := make([]kv.NodeID, len(g.lists))
	for v := range order {
		order[v] = kv.NodeID(v)
	}
	slices.SortStableFunc(order, func(u, v kv.NodeID) int { return len(g.lists[v]) - len(g.lists[u]) })
	to := make([]kv.NodeID, len(order))
	for i, v := range order {
		to[v] = kv.NodeID(i)
	}
	out := &listGraph{lists: make([][]kv.NodeID, len(order)), block: g.block}
	for v, list := range g.lists {
		for _, u := range list {
			out.lists[to[v]] = append(out.lists[to[v]], to[u])
		}
		slices.Sort(out.lists[to[v]])
	}
	return out
}

func (g *listGraph) NumNodes() int { return len(g.lists) }

func (g *listGraph) entries() int {
	total := 0
	for _, list := range g.lists {
		total += len(list)
	}
	return total
}

func (g *listGraph) AdjacencyBlocks() ([]kv.Range, error) {
	var blocks []kv.Range
	for first := 0; first < len(g.lists); {
		size := 1
		if len(blocks)%2 == 1 {
			size = g.block
		}
		end := min(len(g.lists), first+size)
		blocks = append(blocks, kv.Range{First: kv.NodeID(first), End: kv.NodeID(end)})
		first = end
	}
	return blocks, nil
}

func (g *listGraph) ReadAdjacency(r kv.Range, buf *kv.Adjacency) error {
	if g.fail != nil && int(r.End) == len(g.lists) {
		return g.fail
	}
	buf.Range, buf.Offsets, buf.Neighbors = r, append(buf.Offsets[:0], 0), buf.Neighbors[:0]
	for _, list := range g.lists[r.First:r.End] {
		buf.Neighbors = append(buf.Neighbors, list...)
		buf.Offsets = append(buf.Offsets, int64(len(buf.Neighbors)))
	}
	buf.BytesRead = int64(len(buf.Neighbors))
	return nil
}

func (g *listGraph) Neighbors(v kv.NodeID) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		if int(v) >= len(g.lists) {
			yield(0, errNoNode)
			return
		}
		for _, u := range g.lists[v] {
			if !yield(u, nil) {
				return
			}
		}
	}
}

var errNoNode = errors.New("no such node")

// awkwardGraph draws a small graph of a kind that depends on the draw.
func awkwardGraph(r *rand.Rand) *listGraph {
	n := 1 + r.IntN(14)
	var edges [][2]int
	add := func(u, v int) { edges = append(edges, [2]int{u, v}) }
	switch r.IntN(9) {
	case 0: // no edges
	case 1: // path, the last nodes isolated
		for v := 1; v < n-r.IntN(2); v++ {
			add(v-1, v)
		}
	case 2: // clique
		for v := range n {
			for u := range v {
				add(u, v)
			}
		}
	case 3: // star
		for v := 1; v < n; v++ {
			add(0, v)
		}
	case 4: // hub in a sparse graph
		hub := r.IntN(n)
		for v := range n {
			add(hub, v)
			add(v, r.IntN(n))
		}
	case 5: // bipartite
		for range 3 * n {
			u, v := r.IntN(n), r.IntN(n)
			if u%2 != v%2 {
				add(u, v)
			}
		}
	case 6: // two components
		for range 2 * n {
			half := max(1, n/2)
			u, v := r.IntN(half), r.IntN(half)
			add(u, v)
			if n-half > 0 {
				add(half+r.IntN(n-half), half+r.IntN(n-half))
			}
		}
	case 7: // cycle
		for v := range n {
			add(v, (v+1)%n)
		}
	default: // any density
		p := r.Float64()
		for v := range n {
			for u := range v {
				if r.Float64() < p {
					add(u, v)
				}
			}
		}
	}
	g := newListGraph(n, edges)
	if r.IntN(2) == 0 {
		g = g.byDegree()
	}
	g.block = 1 + r.IntN(6)
	return g
}

// rmat draws 2^scale nodes and about edges·2^scale edges with a heavy tail, numbered by descending degree.
func rmat(scale, edges int, seed uint64) *listGraph {
	r := rand.New(rand.NewPCG(seed, 0))
	n := 1 << scale
	list := make([][2]int, 0, n*edges)
	for range n * edges {
		u, v := 0, 0
		for range scale {
			u, v = 2*u, 2*v
			switch x := r.Float64(); {
			case x < 0.57:
			case x < 0.76:
				v++
			case x < 0.95:
				u++
			default:
				u, v = u+1, v+1
			}
		}
		list = append(list, [2]int{u, v})
	}
	g := newListGraph(n, list).byDegree()
	g.block = 1000
	return g
}

// densePower is Ã^k [n×n] of any graph, straight from the definition; with loops A + I replaces A.
func densePower(t testing.TB, g Graph, k int, loops bool) *mat.Dense {
	t.Helper()
	n, all := g.NumNodes(), readAll(t, g)
	a := mat.NewDense(n, n, nil)
	for v := range n {
		weights := kernel.WeightsOf(all, v)
		for i, u := range all.Of(kv.NodeID(v)) {
			if a.Set(v, int(u), 1); weights != nil {
				a.Set(v, int(u), float64(weights[i]))
			}
		}
		if loops {
			a.Set(v, v, 1)
		}
	}
	normalized := mat.NewDense(n, n, nil)
	for v := range n {
		for u := range n {
			if w := a.At(v, u); w > 0 {
				normalized.Set(v, u, w/math.Sqrt(mat.Sum(a.RowView(v))*mat.Sum(a.ColView(u))))
			}
		}
	}
	power := new(mat.Dense)
	power.Pow(normalized, k)
	return power
}

func randomRows(r *rand.Rand, n, c int) []float32 {
	x := make([]float32, n*c)
	for i := range x {
		x[i] = r.Float32()
	}
	return x
}

func TestDegrees(t *testing.T) {
	g := newListGraph(6, [][2]int{{0, 1}, {1, 2}, {1, 3}, {3, 4}})
	got, err := Degrees(context.Background(), g, Options{Workers: 2})
	if want := []uint32{1, 3, 1, 2, 1, 0}; err != nil || !slices.Equal(got, want) {
		t.Fatalf("degrees: got %v, %v, want %v", got, err, want)
	}
}

func TestMalformedGraph(t *testing.T) {
	for name, g := range map[string]Graph{
		"neighbour out of range": &listGraph{lists: [][]kv.NodeID{{1}, {0, 7}}, block: 2},
		"blocks end early":       shortGraph{newListGraph(4, nil)},
	} {
		if _, err := Degrees(context.Background(), g, Options{}); !errors.Is(err, ErrGraph) {
			t.Errorf("%s: got error %v, want ErrGraph", name, err)
		}
	}
	broken := errors.New("disk on fire")
	g := newListGraph(9, [][2]int{{0, 8}})
	g.fail = broken
	if _, err := Degrees(context.Background(), g, Options{}); !errors.Is(err, broken) {
		t.Errorf("failing graph: got error %v, want %v", err, broken)
	}
}

type shortGraph struct{ *listGraph }

func (g shortGraph) NumNodes() int { return g.listGraph.NumNodes() + 1 }

// A graph that is not the one that was surveyed must not be summed, even where its blocks have as many entries.
func TestGraphThatChanges(t *testing.T) {
	ctx := context.Background()
	lists := [][]kv.NodeID{{}, {1, 2}, {3}, {0}}
	for name, after := range map[string][][]kv.NodeID{
		"unchanged":  lists,
		"entry down": {{}, {1}, {2, 3}, {0}},
		"entry up":   {{}, {1, 2, 3}, {}, {0}},
		"one less":   {{}, {1}, {3}, {0}},
		"one more":   {{}, {1, 2}, {3}, {0, 1}},
	} {
		w := must.Get(newWalker(&listGraph{lists: lists, block: 3}, 1))(t)
		s := must.Get(w.survey(ctx, Options{}))(t)
		w.graph = &listGraph{lists: after, block: 3}
		must.Do(t, w.keep(s.degrees))
		for walk := range 2 {
			var read [][]kv.NodeID
			err := w.walk(ctx, func(_ context.Context, _ int, adj *kv.Adjacency) error {
				for v := adj.First; v < adj.End; v++ {
					read = append(read, slices.Clone(adj.Of(v)))
				}
				return nil
			})
			if name != "unchanged" {
				if !errors.Is(err, ErrGraph) {
					t.Errorf("%s, walk %d: got error %v, want ErrGraph", name, walk+1, err)
				}
			} else if err != nil || !slices.EqualFunc(read, lists, slices.Equal) {
				t.Errorf("%s, walk %d: got %v, %v, want %v", name, walk+1, read, err, lists)
			}
		}
		if err := w.free(); err != nil {
			t.Error(err)
		}
		if name != "unchanged" {
			continue
		}
		for before, ok := range map[uint32]bool{0: true, 1: false} { // no list has a neighbour of lesser rank
			held, err := newRankedGraph(w, s).holdBefore(ctx, span{0, rank(len(lists))}, []uint32{0, 0, 0, before})
			if ok != (err == nil) || !ok && !errors.Is(err, ErrGraph) {
				t.Errorf("%d entries held: got error %v", before, err)
			}
			if err == nil {
				must.Do(t, held.free())
			}
		}
	}
}
