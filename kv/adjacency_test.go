package kv

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
)

// verifyLists compares every way to read neighbours with the lists wanted.
func verifyLists(t testing.TB, tx *Tx, want [][]NodeID) {
	t.Helper()
	blocks := must.Get(tx.AdjacencyBlocks())(t)
	var lists Adjacency
	next := NodeID(0)
	for _, r := range blocks {
		if r.First != next || r.End <= r.First {
			t.Fatalf("AdjacencyBlocks: got %v after %d in %v", r, next, blocks)
		}
		next = r.End
		if err := tx.ReadAdjacency(r, &lists); err != nil {
			t.Fatalf("ReadAdjacency(%v): %v", r, err)
		}
		for v := r.First; v < r.End; v++ {
			if got := lists.Of(v); !slices.Equal(got, want[v]) {
				t.Fatalf("ReadAdjacency(%v): node %d: got %v, want %v", r, v, got, want[v])
			}
		}
	}
	if int(next) != len(want) {
		t.Fatalf("AdjacencyBlocks end at %d, want %d", next, len(want))
	}
	var edges []Edge
	degrees := make([]uint32, len(want))
	must.Do(t, tx.ReadDegrees(Range{First: 0, End: NodeID(len(want))}, degrees))
	for u, list := range want {
		var got []NodeID
		for v, err := range tx.Neighbors(NodeID(u)) {
			if err != nil {
				t.Fatalf("Neighbors(%d): %v", u, err)
			}
			got = append(got, v)
		}
		if !slices.Equal(got, list) {
			t.Fatalf("Neighbors(%d): got %v, want %v", u, got, list)
		}
		if d, err := tx.Degree(NodeID(u)); err != nil || d != len(list) || int(degrees[u]) != d {
			t.Fatalf("Degree(%d): got %d, %v, and %d of ReadDegrees, want %d", u, d, err, degrees[u], len(list))
		}
		for _, v := range list {
			if int(v) > u {
				edges = append(edges, Edge{NodeID(u), v})
			}
		}
		for v := u % 7; v < len(want); v += 7 {
			has, err := tx.HasEdge(NodeID(u), NodeID(v))
			if err != nil || has != slices.Contains(list, NodeID(v)) {
				t.Fatalf("HasEdge(%d, %d): got %v, %v, list %v", u, v, has, err, list)
			}
		}
	}
	i := 0
	for e, err := range tx.Edges() {
		if err != nil || i >= len(edges) || e != edges[i] {
			t.Fatalf("Edges: %d: got %v, %v, of %d wanted", i, e, err, len(edges))
		}
		i++
	}
	if i != len(edges) {
		t.Fatalf("Edges: got %d, want %d", i, len(edges))
	}
}

func TestHubIsSplit(t *testing.T) {
	const n = 2*graph.HubDegree + 1000
	dir := filepath.Join(t.TempDir(), "graph")
	l := must.Get(NewLoader(t.Context(), dir, LoadOptions{MemoryBudget: 1 << 20}))(t)
	for i := range n {
		must.Do(t, l.AddNode(Node{ID: strconv.Itoa(i)}))
	}
	for i := 1; i < n; i++ {
		must.Do(t, l.AddEdge(strconv.Itoa(i), "0", 0))
	}
	must.Do(t, l.AddEdge("1", "2", 0))
	must.Get(l.Commit(t.Context(), nil))(t)
	must.Do(t, openTest(t, dir).View(func(tx *Tx) error {
		blocks := must.Get(tx.AdjacencyBlocks())(t)
		d := must.Get(tx.graph().Directory())(t)
		if d.Range(0) != (Range{First: 0, End: 1}) || int(d.Parts[0]) != (n-1+graph.HubDegree-1)/graph.HubDegree {
			t.Errorf("first block: got %v in %d parts, want the hub alone in parts of %d", d.Range(0), d.Parts[0], graph.HubDegree)
		}
		var lists Adjacency
		must.Do(t, tx.ReadAdjacency(blocks[0], &lists))
		if d, err := tx.Degree(0); err != nil || d != n-1 || len(lists.Of(0)) != n-1 {
			t.Errorf("hub: got degree %d, %v, and %d neighbours, want %d", d, err, len(lists.Of(0)), n-1)
		}
		next := NodeID(1)
		for v, err := range tx.Neighbors(0) {
			if err != nil || v != next {
				t.Fatalf("neighbours of the hub: got %d, %v, want %d", v, err, next)
			}
			next++
		}
		for _, v := range []NodeID{1, graph.HubDegree, graph.HubDegree + 1, n - 1} {
			for _, e := range []Edge{{0, v}, {v, 0}} {
				if has, err := tx.HasEdge(e.U, e.V); err != nil || !has {
					t.Errorf("HasEdge(%d, %d): got %v, %v, want true", e.U, e.V, has, err)
				}
			}
		}
		return nil
	}))
}

func TestConcurrentReads(t *testing.T) {
	s := checkedStore(t)
	tx := s.Begin()
	defer tx.Close()
	blocks := must.Get(tx.AdjacencyBlocks())(t)
	errs := make(chan error)
	const workers = 8
	for worker := range workers {
		go func() {
			errs <- func() error {
				var lists Adjacency
				for _, r := range blocks {
					if err := tx.ReadAdjacency(r, &lists); err != nil {
						return err
					}
				}
				for v := NodeID(worker); int(v) < tx.NumNodes(); v += workers {
					id, err := tx.ID(v)
					if err != nil {
						return err
					}
					if back, err := tx.Node(id); err != nil || back != v {
						return fmt.Errorf("node %d: got %d, %w", v, back, err)
					}
					for _, err := range tx.Neighbors(v) {
						if err != nil {
							return err
						}
					}
				}
				return nil
			}()
		}()
	}
	for range workers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
