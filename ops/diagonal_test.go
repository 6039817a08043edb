package ops

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

func TestDiagonalsAreTheirDefinition(t *testing.T) {
	for seed := range uint64(longtest.Of(180, 900)) {
		r := rand.New(rand.NewPCG(seed, 0))
		g := randomGraph(r, seed)
		if seed%50 == 0 {
			g = shuffled(rmat(7, 1+r.IntN(8), seed), seed)
		}
		hops := 1 + r.IntN(MaxHops)
		if seed%3 > 0 {
			hops = MaxHops
		}
		d, err := ComputeDiagonals(context.Background(), g, Powers{Hops: hops}, Options{Workers: 1 + r.IntN(3)})
		if err != nil || d.Hops() != hops {
			t.Fatalf("seed %d: got %d hops, %v, want %d", seed, d.Hops(), err, hops)
		}
		for k := 1; k <= hops; k++ {
			power := densePower(t, g, k, false)
			for v, got := range d.At(k) {
				if want := power.At(v, v); !(math.Abs(got-want) <= 1e-12*max(want, 0.01)) {
					t.Fatalf("seed %d, %T of %d nodes: hop %d, node %d: got %v, want %v",
						seed, g, g.NumNodes(), k, v, got, want)
				}
			}
		}
	}
}

// TestDiagonalsOfHeavyTail compares nodes of all degrees with a walk of one node at a time.
func TestDiagonalsOfHeavyTail(t *testing.T) {
	g := rmat(11, 8, 1)
	n := g.NumNodes()
	d := must.Get(ComputeDiagonals(context.Background(), g, Powers{Hops: MaxHops}, Options{MemoryBudget: 1 << 30}))(t)
	for v := 0; v < n; v = 2*v + 1 {
		at := make([]float64, n) // chance to be there after k steps from v
		at[v] = 1
		for k := 1; k <= MaxHops; k++ {
			next := make([]float64, n)
			for u, x := range at {
				if x > 0 {
					for _, w := range g.lists[u] {
						next[w] += x / float64(len(g.lists[u]))
					}
				}
			}
			at = next
			if got := d.At(k)[v]; math.Abs(got-at[v]) > 1e-14+1e-12*at[v] {
				t.Errorf("hop %d, node %d of degree %d: got %v, want %v", k, v, len(g.lists[v]), got, at[v])
			}
		}
	}
}

func TestDiagonalsSameBits(t *testing.T) {
	ctx := context.Background()
	ranked := rmat(9, 6, 3)
	other, weighted := shuffled(ranked, 4), arcsOf(45)
	for _, of := range []struct {
		name  string
		graph Graph
		block *int // nodes of a block
	}{
		{"by degree", ranked, &ranked.block}, {"shuffled", other, &other.block},
		{"weighted", weighted, &weighted.block},
	} {
		want := must.Get(ComputeDiagonals(ctx, of.graph, Powers{Hops: MaxHops}, Options{Workers: 1}))(t)
		for hops := 2; hops <= MaxHops; hops++ {
			for _, *of.block = range []int{1, 33} {
				tooSmall := &BudgetError{}
				_, err := ComputeDiagonals(ctx, of.graph, Powers{Hops: hops}, Options{MemoryBudget: 1})
				if hops >= 3 && !errors.As(err, &tooSmall) {
					t.Fatalf("%s, %d hops, budget of 1 byte: got error %v, want a *BudgetError", of.name, hops, err)
				}
				for _, workers := range []int{1, 3} {
					for _, more := range []int64{0, 200, 1 << 20} {
						opt := Options{Workers: workers, MemoryBudget: tooSmall.Least + more}
						got, err := ComputeDiagonals(ctx, of.graph, Powers{Hops: hops}, opt)
						if err != nil {
							t.Fatalf("%s, %d hops, blocks of %d, %+v: %v", of.name, hops, *of.block, opt, err)
						}
						for k := 1; k <= hops; k++ {
							if !slices.Equal(got.At(k), want.At(k)) {
								t.Errorf("%s, %d hops, blocks of %d, %+v: hop %d differs in its bits",
									of.name, hops, *of.block, opt, k)
							}
						}
					}
				}
			}
		}
	}
}

// arcsOf draws a weighted graph of at least so many nodes.
func arcsOf(nodes int) *arcGraph {
	r := rand.New(rand.NewPCG(7, 7))
	for {
		if g := randomArcGraph(r, false, true); g.nodes >= nodes {
			return g
		}
	}
}

// shuffled renumbers the nodes at random.
func shuffled(g *listGraph, seed uint64) *listGraph {
	to := rand.New(rand.NewPCG(seed, 0)).Perm(len(g.lists))
	var edges [][2]int
	for v, list := range g.lists {
		for _, u := range list {
			edges = append(edges, [2]int{to[v], to[u]})
		}
	}
	return newListGraph(len(g.lists), edges)
}

func TestDiagonalsOfLargeStar(t *testing.T) {
	const leaves = 1 << 20
	g := &listGraph{lists: make([][]kv.NodeID, leaves+1), block: 1 << 14}
	hub := []kv.NodeID{0}
	for v := 1; v <= leaves; v++ {
		g.lists[0] = append(g.lists[0], kv.NodeID(v))
		g.lists[v] = hub
	}
	opt := Options{Workers: 2, MemoryBudget: 1 << 30}
	_, err := ComputeDiagonals(context.Background(), g, Powers{Hops: 4}, opt)
	const price = leaves * (leaves + 1) // the square of the leaves, and those of one
	refused, ok := errors.AsType[*PriceError](err)
	if !ok || !errors.Is(err, ErrPrice) || *refused != (PriceError{4, price}) {
		t.Errorf("4 hops: got error %v, want a *PriceError of %v", err, float64(price))
	}
	d := must.Get(ComputeDiagonals(context.Background(), g, Powers{Hops: 3}, opt))(t)
	for k := 1; k <= 3; k++ {
		// An even walk from the hub is always back, one from a leaf with the share of a leaf.
		for v, want := range []float64{float64(1 - k%2), float64(1-k%2) / leaves} {
			if got := d.At(k)[v]; math.Abs(got-want) > 1e-15 {
				t.Errorf("hop %d, node %d: got %v, want %v", k, v, got, want)
			}
		}
	}
}

func TestDiagonalsRefuse(t *testing.T) {
	ctx := context.Background()
	g := rmat(8, 5, 1)
	for _, hops := range []int{0, -1, MaxHops + 1} {
		if _, err := ComputeDiagonals(ctx, g, Powers{Hops: hops}, Options{}); !errors.Is(err, ErrShape) {
			t.Errorf("%d hops: got error %v, want ErrShape", hops, err)
		}
	}
	for _, hops := range []int{3, 4, 5} {
		_, err := ComputeDiagonals(ctx, g, Powers{Hops: hops}, Options{MemoryBudget: 1000, Workers: 3})
		var tooSmall *BudgetError
		if !errors.As(err, &tooSmall) {
			t.Fatalf("%d hops in 1000 bytes: got error %v, want a *BudgetError", hops, err)
		}
		_, err = ComputeDiagonals(ctx, g, Powers{Hops: hops}, Options{MemoryBudget: tooSmall.Least - 1})
		if !errors.Is(err, ErrBudget) {
			t.Errorf("%d hops in %d bytes, one less than the least: got error %v, want ErrBudget", hops, tooSmall.Least-1, err)
		}
		if _, err := ComputeDiagonals(ctx, g, Powers{Hops: hops}, Options{MemoryBudget: tooSmall.Least}); err != nil {
			t.Errorf("%d hops in the least budget %d: got error %v, want none", hops, tooSmall.Least, err)
		}
	}
}

func TestDiagonalsStop(t *testing.T) {
	g := rmat(9, 6, 1)
	g.block = 10
	sizes := must.Get(Measure(context.Background(), g, Options{}))(t)
	broken, dir := errors.New("no disk"), scratchDir(t)
	for _, after := range []int64{0, 1, 5, 40, 100} {
		for _, workers := range []int{1, 3} {
			ctx, cancel := context.WithCancel(context.Background())
			g := &interruptedGraph{Graph: g, then: cancel}
			g.reads.Store(-after)
			if _, err := ComputeDiagonals(ctx, g, Powers{Hops: MaxHops}, Options{Workers: workers}); err != context.Canceled {
				t.Errorf("cancelled at block %d, %d workers: got error %v, want %v", after, workers, err, context.Canceled)
			}
			g = &interruptedGraph{Graph: g.Graph, fail: broken}
			g.reads.Store(-after)
			_, err := ComputeDiagonals(context.Background(), g, Powers{Hops: MaxHops}, Options{Workers: workers})
			if !errors.Is(err, broken) {
				t.Errorf("failing at block %d, %d workers: got error %v, want %v", after, workers, err, broken)
			}
			g.reads.Store(-after)
			// No lists are kept.
			narrow := Options{Workers: workers, Scratch: dir, MemoryBudget: sizes.LeastForDiagonals(MaxHops)}
			if _, err := ComputeDiagonals(context.Background(), g, Powers{Hops: MaxHops}, narrow); !errors.Is(err, broken) {
				t.Errorf("in little memory, failing at block %d, %d workers: got error %v, want %v", after, workers, err, broken)
			}
		}
	}
	if left, err := os.ReadDir(dir.Path()); err != nil || len(left) > 0 {
		t.Errorf("scratch directory: got %v, %v, want it empty", left, err)
	}
}

// An interruptedGraph calls then, or fails, from the read on at which reads reaches zero.
type interruptedGraph struct {
	Graph
	reads atomic.Int64
	then  func()
	fail  error
}

func (g *interruptedGraph) ReadAdjacency(r kv.Range, buf *kv.Adjacency) error {
	if g.reads.Add(1) > 0 {
		if g.fail != nil {
			return g.fail
		}
		g.then()
	}
	return g.Graph.ReadAdjacency(r, buf)
}

func TestDiagonalsReport(t *testing.T) {
	g := rmat(8, 5, 2)
	var stages []string
	done, total := int64(0), int64(0)
	opt := Options{
		Workers: 2,
		OnStage: func(s Stage) {
			stages = append(stages, fmt.Sprintf("%s %d", s.Name, s.Hop))
			least := int64(g.entries())
			if s.Name == "diagonal" { // lists are kept
				least = 0
			}
			if s.Edges != int64(g.entries()/2) || s.BytesRead < least || least == 0 && s.BytesRead > 0 {
				t.Errorf("stage %+v: want %d edges, and %d bytes or, unless that is zero, more", s, g.entries()/2, least)
			}
		},
		Progress: func(stage string, d, all int64) {
			if stage == "diagonal" {
				if d <= done || d > all {
					t.Errorf("progress: got %d of %d after %d", d, all, done)
				}
				done, total = d, all
			}
		},
	}
	must.Get(ComputeDiagonals(context.Background(), g, Powers{Hops: MaxHops}, opt))(t)
	want := []string{"degrees 0", "price 0", "diagonal 2", "diagonal 3", "diagonal 4", "diagonal 5"}
	if !slices.Equal(stages, want) {
		t.Errorf("stages: got %q, want %q", stages, want)
	}
	if done == 0 || done != total {
		t.Errorf("progress ended at %d of %d, want all of some", done, total)
	}
}

func TestHeldSpans(t *testing.T) {
	// A list takes 4 bytes, and 4 an entry; the end of the last 4 more.
	for _, c := range []struct {
		lengths  []uint32
		first    int
		capacity int64
		want     []span
	}{
		{nil, 0, 5, nil},
		{[]uint32{9}, 0, 5, []span{{0, 1}}},
		{[]uint32{3, 2, 1, 0}, 0, 44, []span{{0, 4}}},
		{[]uint32{3, 2, 1, 0}, 0, 43, []span{{0, 3}, {3, 4}}},
		{[]uint32{3, 2, 1, 0}, 0, 32, []span{{0, 2}, {2, 4}}},
		{[]uint32{3, 2, 1, 0}, 0, 20, []span{{0, 1}, {1, 2}, {2, 4}}},
		{[]uint32{3, 2, 1, 0}, 2, 44, []span{{2, 4}}},
		{[]uint32{3, 2, 1, 0}, 4, 44, nil},
	} {
		if got := heldSpans(c.lengths, c.first, c.capacity); !slices.Equal(got, c.want) {
			t.Errorf("lists of %v from %d in %d bytes: got %v, want %v", c.lengths, c.first, c.capacity, got, c.want)
		}
	}
}

// The hops that are known are taken as they are, and the rest computed from them, to the same bits.
func TestDiagonalsGoOn(t *testing.T) {
	ctx := context.Background()
	graphs := map[string]Graph{
		"simple": shuffled(rmat(7, 6, 3), 1), "weighted": randomArcGraph(rand.New(rand.NewPCG(4, 0)), false, true),
	}
	for name, g := range graphs {
		n := g.NumNodes()
		var kept [][]float64
		powers := Powers{Hops: MaxHops, OnHop: func(k int, values []float64) error {
			if k != len(kept)+1 {
				t.Errorf("%s: told of hop %d after %d", name, k, len(kept))
			}
			kept = append(kept, slices.Clone(values))
			return nil
		}}
		want := must.Get(ComputeDiagonals(ctx, g, powers, Options{Workers: 2}))(t)
		for have := range MaxHops + 2 {
			told, done, total := 0, int64(0), int64(0)
			powers := Powers{Hops: MaxHops, Have: kept[:min(have, MaxHops)], OnHop: func(int, []float64) error {
				told++
				return nil
			}}
			opt := Options{Workers: 2, Progress: func(stage string, d, all int64) {
				if stage == "diagonal" {
					done, total = d, all
				}
			}}
			got := must.Get(ComputeDiagonals(ctx, g, powers, opt))(t)
			if got.Hops() != MaxHops || told != max(0, MaxHops-have) || done != total {
				t.Errorf("%s, %d hops known: got %d, told of %d, progress %d of %d", name, have, got.Hops(), told, done, total)
			}
			for k := 1; k <= MaxHops; k++ {
				if !slices.Equal(got.At(k), want.At(k)) || len(kept[k-1]) != n || !slices.Equal(kept[k-1], want.At(k)) {
					t.Errorf("%s, %d hops known: hop %d differs in its bits", name, have, k)
				}
			}
		}
		full := errors.New("no room")
		powers = Powers{Hops: MaxHops, OnHop: func(k int, _ []float64) error {
			if k == 3 {
				return full
			}
			return nil
		}}
		if _, err := ComputeDiagonals(ctx, g, powers, Options{}); !errors.Is(err, full) {
			t.Errorf("%s, hop 3 cannot be kept: got error %v, want %v", name, err, full)
		}
		powers = Powers{Hops: 3, Have: [][]float64{make([]float64, n+1)}}
		if _, err := ComputeDiagonals(ctx, g, powers, Options{}); !errors.Is(err, ErrShape) {
			t.Errorf("%s, a value too many: got error %v, want ErrShape", name, err)
		}
	}
}
