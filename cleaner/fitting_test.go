package cleaner

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

func TestNodeSetAgainstAList(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := 1 + r.IntN(300)
		s := newNodeSet(n)
		var members []kv.NodeID
		for v := range n {
			if r.IntN(4) == 0 {
				s.add(kv.NodeID(v))
				members = append(members, kv.NodeID(v))
			}
		}
		s.count()
		for v := range n {
			want, in := slices.BinarySearch(members, kv.NodeID(v))
			if rank, ok := s.has(kv.NodeID(v)); ok != in || in && rank != want {
				t.Fatalf("seed %d, node %d: got rank %d, %v, want %d, %v", seed, v, rank, ok, want, in)
			}
		}
		first := r.IntN(n + 1)
		rows := kv.Range{First: kv.NodeID(first), End: kv.NodeID(first + r.IntN(n+1-first))}
		var got []kv.NodeID
		s.each(rows, func(rank int, v kv.NodeID) {
			if members[rank] != v {
				t.Fatalf("seed %d: got node %d at rank %d, want %d", seed, v, rank, members[rank])
			}
			got = append(got, v)
		})
		from, _ := slices.BinarySearch(members, rows.First)
		to, _ := slices.BinarySearch(members, rows.End)
		if !slices.Equal(got, members[from:to]) {
			t.Fatalf("seed %d, nodes %v: got %v, want %v", seed, rows, got, members[from:to])
		}
	}
}

func TestSampleIsUniformAndOfItsSize(t *testing.T) {
	const n = 1000
	nodes, order, err := drawNodes(identityOrder(n), n, n, n, 1, func(kv.NodeID) bool { return true })
	if err != nil || len(nodes.members) != n {
		t.Fatalf("got %d nodes, error %v, want all", len(nodes.members), err)
	}
	for i, rank := range order {
		if int(rank) != i {
			t.Fatalf("all nodes in file order: got rank %d at place %d", rank, i)
		}
	}
}
