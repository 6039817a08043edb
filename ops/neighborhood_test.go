package ops

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

func TestNeighborhood(t *testing.T) {
	//  0 – 1 – 2 – 3 – 4, 1 – 5, 6 alone
	g := newListGraph(7, [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {1, 5}})
	for _, c := range []struct {
		v           kv.NodeID
		hops, limit int
		want        [][]kv.NodeID
		truncated   bool
	}{
		{v: 0, hops: 0, want: [][]kv.NodeID{{0}}},
		{v: 0, hops: 2, want: [][]kv.NodeID{{0}, {1}, {2, 5}}},
		{v: 0, hops: 9, want: [][]kv.NodeID{{0}, {1}, {2, 5}, {3}, {4}}},
		{v: 6, hops: 3, want: [][]kv.NodeID{{6}}},
		{v: 1, hops: 1, limit: 3, want: [][]kv.NodeID{{1}, {0, 2}}, truncated: true},
		{v: 1, hops: 1, limit: 4, want: [][]kv.NodeID{{1}, {0, 2, 5}}},
		{v: 1, hops: 2, limit: 4, want: [][]kv.NodeID{{1}, {0, 2, 5}}, truncated: true},
		{v: 1, hops: 1, limit: 1, want: [][]kv.NodeID{{1}}, truncated: true},
	} {
		got, truncated, err := Neighborhood(context.Background(), g, c.v, c.hops, c.limit)
		if err != nil || !reflect.DeepEqual(got, c.want) || truncated != c.truncated {
			t.Errorf("node %d, %d hops, limit %d: got %v, truncated %t, %v, want %v, truncated %t",
				c.v, c.hops, c.limit, got, truncated, err, c.want, c.truncated)
		}
	}
}

func TestNeighborhoodIsDistance(t *testing.T) {
	for seed := range uint64(100) {
		g := awkwardGraph(rand.New(rand.NewPCG(seed, 0)))
		const hops = 3
		levels, _, err := Neighborhood(context.Background(), g, 0, hops, 0)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		reached := map[int]int{} // node to its distance, by powers of the adjacency
		for k := range hops + 1 {
			power := densePower(t, g, k, false)
			for v := range g.lists {
				if _, ok := reached[v]; !ok && power.At(0, v) != 0 {
					reached[v] = k
				}
			}
		}
		for v := range g.lists {
			got := slices.IndexFunc(levels, func(level []kv.NodeID) bool { return slices.Contains(level, kv.NodeID(v)) })
			want, ok := reached[v]
			if !ok {
				want = -1
			}
			if got != want {
				t.Fatalf("seed %d, lists %v: node %d: got level %d, want %d", seed, g.lists, v, got, want)
			}
		}
	}
}

func TestNeighborhoodErrors(t *testing.T) {
	g := newListGraph(400, nil)
	for v := range 399 {
		g.lists[0] = append(g.lists[0], kv.NodeID(v+1))
	}
	if _, _, err := Neighborhood(context.Background(), g, 400, 1, 0); !errors.Is(err, errNoNode) {
		t.Errorf("node 400 of 400: got error %v, want %v", err, errNoNode)
	}
	if _, _, err := Neighborhood(context.Background(), g, 0, -1, 0); !errors.Is(err, ErrShape) {
		t.Errorf("-1 hops: got error %v, want ErrShape", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Neighborhood(ctx, g, 0, 1, 0); err != context.Canceled {
		t.Errorf("cancelled: got error %v, want %v", err, context.Canceled)
	}
}
