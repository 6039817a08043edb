package kv

import (
	"errors"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func TestEdgeErrors(t *testing.T) {
	s := checkedStore(t)
	err := s.View(func(tx *Tx) error { return tx.AddEdge(1, 2) })
	if !errors.Is(err, ErrReadOnly) {
		t.Errorf("AddEdge in a View: got %v, want ErrReadOnly", err)
	}
	must.Do(t, s.Update(func(tx *Tx) error {
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
		if _, err := tx.AddNode(Node{ID: "fine", Values: []Value{ValueOf(1)}}); !errors.Is(err, ErrInvalidValue) {
			t.Errorf("AddNode with values: got %v, want ErrInvalidValue", err)
		}
		if tx.NumNodes() != int(n) {
			t.Errorf("after errors: got %d nodes, want %d", tx.NumNodes(), n)
		}
		return nil
	}))
	must.Do(t, s.View(func(tx *Tx) error {
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
	}))
}

func TestNestedReadsInUpdate(t *testing.T) {
	s := checkedStore(t)
	must.Do(t, s.Update(func(tx *Tx) error {
		extra := must.Get(tx.Node("extra"))(t)
		var pairs []edge
		for u, err := range tx.Neighbors(extra) {
			must.Do(t, err)
			for v, err := range tx.Neighbors(u) {
				must.Do(t, err)
				pairs = append(pairs, edge{u, v})
			}
			must.Do(t, tx.AddEdge(u, 300))
		}
		if !slices.Contains(pairs, edge{7, extra}) || !slices.Contains(pairs, edge{9, extra}) {
			t.Errorf("neighbours of neighbours: got %v", pairs)
		}
		return nil
	}))
	checkClean(t, s)
}
