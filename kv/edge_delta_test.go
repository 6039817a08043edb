package kv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestEdgesAgainstModel adds and removes edges and nodes at random, in the store and in a map, and compares all reads
// within the transaction, after it, after opening the store again and after compacting it.
func TestEdgesAgainstModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(longtest.Of(3, 18)) {
		r := rand.New(rand.NewPCG(seed, 2))
		g := randomGraph(r)
		dir := filepath.Join(t.TempDir(), "graph")
		g.load(t, dir, LoadOptions{MemoryBudget: minMemoryBudget}, nil)
		s := openTest(t, dir)
		for round := range 6 {
			err := s.Update(func(tx *Tx) error {
				for range r.IntN(30) {
					if err := g.change(r, tx); err != nil {
						return fmt.Errorf("seed %d: %w", seed, err)
					}
				}
				if round%2 == 0 {
					g.verify(t, tx)
				}
				return nil
			})
			must.Do(t, err)
			if r.IntN(3) == 0 {
				if err := s.Compact(t.Context(), nil); err != nil {
					t.Fatalf("seed %d: Compact: %v", seed, err)
				}
				if tx := s.Begin(); tx.cat.EdgeDeltas != 0 || tx.cat.LoadedNodes != tx.cat.Nodes {
					t.Fatalf("seed %d: after Compact: got %d edge deltas and %d of %d nodes in blocks",
						seed, tx.cat.EdgeDeltas, tx.cat.LoadedNodes, tx.cat.Nodes)
				}
			}
			if r.IntN(3) == 0 {
				must.Do(t, s.Close())
				s = openTest(t, dir)
			}
			must.Do(t, s.View(func(tx *Tx) error { g.verify(t, tx); return nil }))
			checkClean(t, s)
		}
		must.Do(t, s.Close())
	}
}

// change makes one random change to the graph and the transaction.
func (g *testGraph) change(r *rand.Rand, tx *Tx) error {
	if len(g.ids) == 0 || r.IntN(6) == 0 {
		id := fmt.Sprint(len(g.ids))
		if r.IntN(3) == 0 {
			id = "neu-" + id
		}
		_, taken := g.neighbors[id]
		switch _, err := tx.AddNode(Node{ID: id, Label: "added"}); {
		case taken && errors.Is(err, ErrExists):
		case taken || err != nil:
			return fmt.Errorf("AddNode(%q), there already: %v: %w", id, taken, err)
		default:
			g.ids = append(g.ids, id)
			g.neighbors[id] = map[string]bool{}
		}
		return nil
	}
	// Few nodes, so that edges are often added and removed again.
	a, b := g.ids[r.IntN(len(g.ids))], g.ids[r.IntN(min(5, len(g.ids)))]
	u, err := tx.Node(a)
	if err != nil {
		return err
	}
	v, err := tx.Node(b)
	if err != nil {
		return err
	}
	there := g.neighbors[a][b]
	if r.IntN(2) == 0 {
		want := error(nil)
		switch {
		case a == b:
			want = ErrInvalidEdge
		case there:
			want = ErrExists
		default:
			g.neighbors[a][b], g.neighbors[b][a] = true, true
		}
		if err := tx.AddEdge(u, v); !errors.Is(err, want) {
			return fmt.Errorf("AddEdge(%q, %q): got %w, want %v", a, b, err, want)
		}
		return nil
	}
	want := error(nil)
	switch {
	case a == b:
		want = ErrInvalidEdge
	case !there:
		want = ErrNotFound
	default:
		delete(g.neighbors[a], b)
		delete(g.neighbors[b], a)
	}
	if err := tx.RemoveEdge(u, v); !errors.Is(err, want) {
		return fmt.Errorf("RemoveEdge(%q, %q): got %w, want %v", a, b, err, want)
	}
	return nil
}

func TestEdgeErrors(t *testing.T) {
	s := checkedStore(t)
	err := s.View(func(tx *Tx) error { return tx.AddEdge(1, 2) })
	if !errors.Is(err, ErrReadOnly) {
		t.Errorf("AddEdge in a View: got %v, want ErrReadOnly", err)
	}
	err = s.Update(func(tx *Tx) error {
		n := NodeID(tx.NumNodes())
		for what, err := range map[string]error{
			"AddEdge":    tx.AddEdge(1, n),
			"RemoveEdge": tx.RemoveEdge(n, 1),
			"AddNode":    func() error { _, err := tx.AddNode(Node{ID: "n3"}); return err }(),
		} {
			want := ErrNotFound
			if what == "AddNode" {
				want = ErrExists
			}
			if !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", what, err, want)
			}
		}
		if _, err := tx.AddNode(Node{ID: "a\x00"}); !errors.Is(err, ErrInvalidID) {
			t.Errorf("AddNode with a control character: got %v, want ErrInvalidID", err)
		}
		if _, err := tx.AddNode(Node{ID: "fine", Values: []Value{IntValue(1)}}); !errors.Is(err, ErrInvalidValue) {
			t.Errorf("AddNode with values: got %v, want ErrInvalidValue", err)
		}
		if tx.NumNodes() != int(n) {
			t.Errorf("after errors: got %d nodes, want %d", tx.NumNodes(), n)
		}
		return nil
	})
	must.Do(t, err)
	err = s.View(func(tx *Tx) error {
		var lists Adjacency
		n := NodeID(tx.NumNodes())
		for _, r := range []Range{{First: 1, End: 3}, {First: 0, End: n + 1}, {First: 2, End: 1}} {
			if err := tx.ReadAdjacency(r, &lists); !errors.Is(err, ErrShape) {
				t.Errorf("ReadAdjacency(%v): got %v, want ErrShape", r, err)
			}
		}
		if err := tx.ReadAdjacency(Range{First: 0, End: n}, &lists); err != nil || lists.Len() != int(n) {
			t.Errorf("ReadAdjacency of all: got %v and %d lists, want %d", err, lists.Len(), n)
		}
		for _, err := range tx.Neighbors(n) {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("Neighbors(%d): got %v, want ErrNotFound", n, err)
			}
		}
		return nil
	})
	must.Do(t, err)
}

func TestNestedReadsInUpdate(t *testing.T) {
	s := checkedStore(t)
	err := s.Update(func(tx *Tx) error {
		extra, err := tx.Node("extra")
		if err != nil {
			return err
		}
		var pairs []Edge
		for u, err := range tx.Neighbors(extra) {
			if err != nil {
				return err
			}
			for v, err := range tx.Neighbors(u) {
				if err != nil {
					return err
				}
				pairs = append(pairs, Edge{u, v})
			}
			if err := tx.AddEdge(u, 300); err != nil {
				return err
			}
		}
		if !slices.Contains(pairs, Edge{7, extra}) || !slices.Contains(pairs, Edge{9, extra}) {
			t.Errorf("neighbours of neighbours: got %v", pairs)
		}
		return nil
	})
	must.Do(t, err)
	checkClean(t, s)
}
