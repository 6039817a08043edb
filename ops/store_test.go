package ops

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

var (
	_ Graph          = (*kv.Tx)(nil)
	_ NeighborReader = (*kv.Tx)(nil)
	_ Source         = (*kv.Matrix)(nil)
)

// A stored graph, after edges were added and removed, gives the bits of the same graph in memory.
func TestStoredGraph(t *testing.T) {
	ctx := context.Background()
	g := rmat(8, 6, 9)
	dir := filepath.Join(t.TempDir(), "graph")
	load := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{}))(t)
	for v := range g.lists {
		must.Do(t, load.AddNode(kv.Node{ID: fmt.Sprint(v)}))
	}
	for v, list := range g.lists {
		for _, u := range list {
			if int(u) < v {
				must.Do(t, load.AddEdge(fmt.Sprint(v), fmt.Sprint(u), 0))
			}
		}
	}
	must.Get(load.Commit(ctx, nil))(t)
	store := must.Get(kv.Open(dir, kv.Options{}))(t)
	defer func() { must.Do(t, store.Close()) }()
	compareStored(t, store, g)

	// Ranks now differ from NodeIDs.
	first, last := kv.NodeID(0), kv.NodeID(len(g.lists)-1)
	gone := g.lists[first][0]
	must.Do(t, store.Update(func(tx *kv.Tx) error {
		for u := range kv.NodeID(40) {
			if _, there := slices.BinarySearch(g.lists[last], u); !there {
				must.Do(t, tx.AddEdge(last, u))
				g.lists[last], g.lists[u] = append(g.lists[last], u), append(g.lists[u], last)
			}
		}
		g.lists[first] = slices.DeleteFunc(g.lists[first], func(u kv.NodeID) bool { return u == gone })
		g.lists[gone] = slices.DeleteFunc(g.lists[gone], func(u kv.NodeID) bool { return u == first })
		return tx.RemoveEdge(first, gone)
	}))
	for _, list := range g.lists {
		slices.Sort(list)
	}
	compareStored(t, store, g)
}

func compareStored(t *testing.T, store *kv.Store, g *listGraph) {
	t.Helper()
	ctx := context.Background()
	tx := store.Begin()
	defer tx.Close()
	got := must.Get(ComputeDiagonals(ctx, tx, Powers{Hops: MaxHops}, Options{Workers: 2}))(t)
	want := must.Get(ComputeDiagonals(ctx, g, Powers{Hops: MaxHops}, Options{}))(t)
	for k := 1; k <= MaxHops; k++ {
		if !slices.Equal(got.At(k), want.At(k)) {
			t.Errorf("diagonal of hop %d: got %v, want %v", k, got.At(k), want.At(k))
		}
	}
	labels := make([]kv.Class, len(g.lists))
	for v := range labels {
		labels[v] = kv.Class(v % 5)
	}
	op := Operator{Hops: 3, Diagonals: want}
	gotTiles := must.Get(collect(ctx, tx, OneHot(labels, 5), op, Options{Workers: 2}))(t)
	wantTiles := must.Get(collect(ctx, g, OneHot(labels, 5), op, Options{}))(t)
	for k := range wantTiles {
		if !sameBits(gotTiles[k], wantTiles[k]) {
			t.Errorf("hop %d of the stored graph differs in its bits", k+1)
		}
	}
	compareRows(t, store, g)
}

// compareRows compares the rows of some nodes with those of dense powers.
func compareRows(t *testing.T, store *kv.Store, g *listGraph) {
	t.Helper()
	const hops = 3
	must.Do(t, store.View(func(tx *kv.Tx) error {
		for _, v := range []int{0, len(g.lists) / 2, len(g.lists) - 1} {
			for _, op := range []Operator{{Hops: hops}, {Hops: hops, SelfLoops: true}} {
				var steps atomic.Int64
				steps.Store(1 << 40)
				rows := must.Get(OperatorRows(t.Context(), tx, kv.NodeID(v), op, &steps))(t)
				for k, row := range rows {
					power := densePower(t, g, k+1, op.SelfLoops)
					for u := range g.lists {
						want := power.At(v, u)
						if u == v && !op.SelfLoops {
							want = 0
						}
						if got := row.At(kv.NodeID(u)); math.Abs(got-want) > 1e-12 {
							t.Fatalf("self loops %v, S_%d, row %d, column %d: got %v, want %v", op.SelfLoops, k+1, v, u, got, want)
						}
					}
				}
			}
		}
		var steps atomic.Int64
		steps.Store(2)
		_, err := OperatorRows(t.Context(), tx, 0, Operator{Hops: hops}, &steps)
		if !errors.Is(err, ErrReach) {
			t.Errorf("in two steps: got %v, want ErrReach", err)
		}
		return nil
	}))
}

// TestOperatorRowsRefuses wants an error, and no panic, for a node that is not there and for hops below zero.
func TestOperatorRowsRefuses(t *testing.T) {
	s := must.Get(kv.Create(filepath.Join(t.TempDir(), "s"), kv.Options{}))(t)
	defer func() { must.Do(t, s.Close()) }()
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		_, err := tx.AddNode(kv.Node{ID: "a"})
		return err
	}))
	tx := s.Begin()
	defer tx.Close()
	for _, c := range []struct {
		v    kv.NodeID
		hops int
		want error
	}{{0, -1, ErrShape}, {1, 2, kv.ErrNotFound}, {kv.NoNode, 2, kv.ErrNotFound}} {
		steps := new(atomic.Int64)
		steps.Store(1000)
		_, err := OperatorRows(context.Background(), tx, c.v, Operator{Hops: c.hops}, steps)
		if !errors.Is(err, c.want) {
			t.Errorf("node %d, %d hops: got %v, want %v", c.v, c.hops, err, c.want)
		}
	}
}
