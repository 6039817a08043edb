package kv

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
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
		must.Do(t, tx.ReadAdjacency(r, &lists))
		for v := r.First; v < r.End; v++ {
			if got := lists.Of(v); !slices.Equal(got, want[v]) {
				t.Fatalf("ReadAdjacency(%v): node %d: got %v, want %v", r, v, got, want[v])
			}
		}
	}
	if int(next) != len(want) {
		t.Fatalf("AdjacencyBlocks end at %d, want %d", next, len(want))
	}
	var edges []edge
	degrees := make([]uint32, len(want))
	must.Do(t, tx.ReadDegrees(Range{First: 0, End: NodeID(len(want))}, degrees))
	for u, list := range want {
		var got []NodeID
		for v, err := range tx.Neighbors(NodeID(u)) {
			must.Do(t, err)
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
				edges = append(edges, edge{NodeID(u), v})
			}
		}
		for v := u % 7; v < len(want); v += 7 {
			has, err := hasEdge(tx, NodeID(u), NodeID(v))
			if err != nil || has != slices.Contains(list, NodeID(v)) {
				t.Fatalf("HasEdge(%d, %d): got %v, %v, list %v", u, v, has, err, list)
			}
		}
	}
	i := 0
	for e, err := range allEdges(tx) {
		if err != nil || i >= len(edges) || e != edges[i] {
			t.Fatalf("Edges: %d: got %v, %v, of %d wanted", i, e, err, len(edges))
		}
		i++
	}
	if i != len(edges) {
		t.Fatalf("Edges: got %d, want %d", i, len(edges))
	}
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

// An edge is an undirected edge, or an arc from U to V.
type edge struct{ U, V NodeID }

// allEdges yields every edge once, with U < V, ascending.
func allEdges(tx *Tx) iter.Seq2[edge, error] {
	return func(yield func(edge, error) bool) {
		blocks, err := tx.AdjacencyBlocks()
		var lists Adjacency
		for _, r := range blocks {
			if err = tx.ReadAdjacency(r, &lists); err != nil {
				break
			}
			for u := r.First; u < r.End; u++ {
				for _, v := range lists.Of(u) {
					if u < v && !yield(edge{u, v}, nil) {
						return
					}
				}
			}
		}
		if err != nil {
			yield(edge{}, err)
		}
	}
}

// hasEdge reports whether two nodes are neighbors.
func hasEdge(tx *Tx, u, v NodeID) (bool, error) {
	a, _, err := tx.graph().Join(u, v)
	return a != codec.Arc{}, err
}

// setEdge gives an edge a weight, as a Patch does.
func setEdge(tx *Tx, u, v NodeID, weight float32) error {
	return tx.editEdge(u, v, func(a codec.Arc) (codec.Arc, error) {
		return codec.Arc{Out: weight, In: a.In}.Directed(tx.cat.arcForm()), nil
	})
}
