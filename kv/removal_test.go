package kv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// numbered loads a store of n nodes in a ring, whose ids are their places in the nodes file or, unless dense, texts.
func numbered(t *testing.T, n int, dense bool, opt LoadOptions) *Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	opt.MemoryBudget = minMemoryBudget
	l := must.Get(NewLoader(t.Context(), dir, opt))(t)
	id := func(i int) string {
		if dense {
			return strconv.Itoa(i % n)
		}
		return "é" + strconv.Itoa(i%n)
	}
	for i := range n {
		must.Do(t, l.AddNode(Node{ID: id(i), Label: "class " + strconv.Itoa(i%3)}))
	}
	for i := range n {
		for _, step := range []int{1, 1 + i%5} {
			must.Do(t, l.AddEdge(id(i), id(i+step), 0))
		}
	}
	must.Get(l.Commit(t.Context(), nil))(t)
	return openTest(t, dir)
}

// TestRemoveIndexed tells OnWrite of every value that a removal takes, and refuses without one.
func TestRemoveIndexed(t *testing.T) {
	t.Parallel()
	s := numbered(t, 10, true, LoadOptions{})
	update(t, s, func(tx *Tx) error { return tx.SetIndexed(LabelColumn, true) })
	if err := s.Update(func(tx *Tx) error { return tx.RemoveNode(2) }); !errors.Is(err, ErrIndexed) {
		t.Errorf("without OnWrite: got %v, want ErrIndexed", err)
	}
	label := Value{}
	view(t, s, func(tx *Tx) (err error) {
		label, err = tx.Value(2, LabelColumn)
		return err
	})
	writes := 0
	s.opt.OnWrite = func(_ *Tx, v NodeID, column string, before, after Value) error {
		if writes++; v != 2 || column != LabelColumn || before != label || !after.IsNull() || label.IsNull() {
			t.Errorf("got a write of node %d, column %s, from %q to %q, want the label %q taken from node 2",
				v, column, before, after, label)
		}
		return nil
	}
	update(t, s, func(tx *Tx) error { return tx.RemoveNode(2) })
	if writes != 1 {
		t.Errorf("got %d writes, want 1", writes)
	}
}

// TestHubIsNotHalfRemoved removes a node of more edges than a transaction holds: an Update removes nothing, a Patch
// all of it.
func TestHubIsNotHalfRemoved(t *testing.T) {
	t.Parallel()
	const n = 30_000
	l, err := NewLoader(t.Context(), filepath.Join(t.TempDir(), "store"), LoadOptions{MemoryBudget: minMemoryBudget})
	must.Do(t, err)
	for i := range n {
		must.Do(t, l.AddNode(Node{ID: strconv.Itoa(i)}))
	}
	for i := range n - 1 {
		must.Do(t, l.AddEdge("0", strconv.Itoa(i+1), 0))
	}
	must.Get(l.Commit(t.Context(), nil))(t)
	s := openTest(t, l.work.target)
	err = s.Update(func(tx *Tx) error {
		hub, err := tx.Node("0")
		if err != nil {
			return err
		}
		return tx.RemoveNode(hub)
	})
	if !errors.Is(err, ErrTxTooBig) {
		t.Errorf("got %v, want ErrTxTooBig", err)
	}
	checkClean(t, s)
	view(t, s, func(tx *Tx) error {
		if tx.Shape().Edges != n-1 || tx.NumNodes()-tx.Shape().Present != 0 {
			t.Errorf("got %d edges, %d nodes removed, want %d and none", tx.Shape().Edges, tx.NumNodes()-tx.Shape().Present, n-1)
		}
		return nil
	})
	p := must.Get(s.NewPatch(PatchOptions{}))(t)
	must.Do(t, p.RemoveNode("0", 1))
	stats, err := p.Commit(t.Context())
	if want := (Stats{RemovedNodes: 1, RemovedEdges: n - 1, Rewritten: true}); err != nil || stats != want {
		t.Errorf("got %+v, %v, want %+v", stats, err, want)
	}
	checkClean(t, s)
	view(t, s, func(tx *Tx) error {
		if tx.Shape().Edges != 0 || tx.Shape().Present != n-1 {
			t.Errorf("got %d edges and %d nodes, want none and %d", tx.Shape().Edges, tx.Shape().Present, n-1)
		}
		return nil
	})
}

// A removed node beyond the nodes is damage, even if the number of removed ones is right.
func TestRemovedNodesAreThere(t *testing.T) {
	dir := everyKind(t, 700)
	damagedStores.Store(dir, true)
	s := openTest(t, dir)
	rewrite(t, s, firstKey(t, s, record.KindRemoved), func(body []byte) []byte {
		i := slices.IndexFunc(body, func(b byte) bool { return b != 0 })
		body[i] &= body[i] - 1
		body[len(body)-1] |= 1 << 7
		return body
	})
	view(t, s, func(tx *Tx) error {
		if _, err := tx.readRemoved(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "is removed") {
			t.Errorf("got %v, want an ErrCorrupt of the node", err)
		}
		return nil
	})
}

// TestRepairOfRemovals takes the records of removed nodes away. These nodes are there again, under other ids: each of
// theirs is that of a node added later, or was dropped by Compact.
func TestRepairOfRemovals(t *testing.T) {
	t.Parallel()
	for _, compacted := range []bool{false, true} {
		dir := everyKind(t, 700)
		s := openTest(t, dir)
		if compacted {
			must.Do(t, s.Compact(t.Context(), nil))
		}
		before, nodes := map[string]bool{}, 0
		view(t, s, func(tx *Tx) error {
			nodes = tx.NumNodes()
			for id, err := range tx.IDs() {
				must.Do(t, err)
				before[id] = true
			}
			return nil
		})
		writeRaw(t, s, firstKey(t, s, record.KindRemoved), nil)
		if len(problems(t, s)) == 0 {
			t.Errorf("compacted %v: Check finds no damage", compacted)
		}
		damagedStores.Store(dir, true)
		closeStore(t, s)
		want := fmt.Sprintf("%d removals of a node", nodes-len(before))
		if lost, done := repairLosing(t, dir); !strings.Contains(lost.String(), want) {
			t.Errorf("compacted %v: lost %v, want %s; done: %s", compacted, lost, want, done)
		}
		exported(t, dir)
		view(t, openTest(t, dir), func(tx *Tx) error {
			again := 0
			for id, err := range tx.IDs() {
				must.Do(t, err)
				if !before[id] {
					v := must.Get(tx.Node(id))(t)
					if degree := must.Get(tx.Degree(v))(t); !strings.HasPrefix(id, LostPrefix) || degree > 0 {
						t.Errorf("compacted %v: node %q of degree %d is there", compacted, id, degree)
					}
					again++
				}
				delete(before, id)
			}
			if len(before) > 0 || again == 0 || tx.Shape().Present != nodes {
				t.Errorf("compacted %v: %v are missing, %d are there again, %d of %d nodes in all", compacted, before, again,
					tx.Shape().Present, nodes)
			}
			return nil
		})
	}
}

// TestRemovalsAreBlocks encodes removed nodes and decodes them again.
func TestRemovalsAreBlocks(t *testing.T) {
	t.Parallel()
	const n = 3*removedPerBlock + 5
	r := rand.New(rand.NewPCG(1, 1))
	for _, share := range []int{1, 2, 1000} {
		want := bitset.New[NodeID](n)
		for v := range NodeID(n) {
			if r.IntN(share) == 0 {
				want.Add(v)
			}
		}
		got := bitset.New[NodeID](n + removedPerBlock)
		err := putRemovedSet(func(key, body []byte) error {
			return addRemoved(got, record.Record{Key: key, Body: body})
		}, 1, want)
		if err != nil || !slices.Equal(got[:len(want)], want) || got.Len() != want.Len() {
			t.Errorf("one in %d: got another set of %d, %v", share, got.Len(), err)
		}
	}
	for _, block := range []uint32{3, 5} { // its body is short, its nodes are not there
		r := record.Record{Key: record.NumberKey(record.KindRemoved, 1, block),
			Body: make([]byte, removedPerBlock/8-1+int(block)/5)}
		if err := addRemoved(bitset.New[NodeID](n+removedPerBlock), r); !errors.Is(err, ErrCorrupt) {
			t.Errorf("block %d: got %v, want ErrCorrupt", block, err)
		}
	}
}
