package kv

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

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
	var writes []Write
	s.opt.OnWrite = func(_ *Tx, w Write) error {
		writes = append(writes, w)
		return nil
	}
	label := Value{}
	view(t, s, func(tx *Tx) (err error) {
		label, err = tx.Value(2, LabelColumn)
		return err
	})
	update(t, s, func(tx *Tx) error { return tx.RemoveNode(2) })
	if want := (Write{Node: 2, Column: LabelColumn, Before: label}); len(writes) != 1 || writes[0] != want || label.IsNull() {
		t.Errorf("got writes %v, want %v", writes, want)
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
		if tx.NumEdges() != n-1 || tx.NumNodes()-tx.NumPresent() != 0 {
			t.Errorf("got %d edges, %d nodes removed, want %d and none", tx.NumEdges(), tx.NumNodes()-tx.NumPresent(), n-1)
		}
		return nil
	})
	p := must.Get(s.NewPatch(PatchOptions{}))(t)
	must.Do(t, p.RemoveNode("0", 1))
	stats, err := p.Commit(t.Context())
	if want := (PatchStats{RemovedNodes: 1, RemovedEdges: n - 1, Rewritten: true}); err != nil || stats != want {
		t.Errorf("got %+v, %v, want %+v", stats, err, want)
	}
	checkClean(t, s)
	view(t, s, func(tx *Tx) error {
		if tx.NumEdges() != 0 || tx.NumPresent() != n-1 {
			t.Errorf("got %d edges and %d nodes, want none and %d", tx.NumEdges(), tx.NumPresent(), n-1)
		}
		return nil
	})
}

// TestRepairOfRemovals damages or deletes the records of removed nodes.
func TestRepairOfRemovals(t *testing.T) {
	t.Parallel()
	for _, compacted := range []bool{false, true} {
		for _, missing := range []bool{false, true} {
			dir := everyKind(t, 700)
			s := openTest(t, dir)
			if compacted {
				must.Do(t, s.Compact(t.Context(), nil))
			}
			before := 0
			var ids []string
			view(t, s, func(tx *Tx) error {
				before = tx.NumNodes() - tx.NumPresent()
				for id, err := range tx.IDs() {
					must.Do(t, err)
					ids = append(ids, id)
				}
				return nil
			})
			key := firstKey(t, s, record.KindRemoved)
			if missing {
				must.Do(t, s.removeAll([][]byte{key}))
			} else {
				writeRaw(t, s, key, []byte("damage"))
			}
			if len(problems(t, s)) == 0 {
				t.Errorf("compacted %v, missing %v: Check finds no damage", compacted, missing)
			}
			damagedStores.Store(dir, true)
			closeStore(t, s)
			done := repaired(t, dir)
			exported(t, dir)
			s = openTest(t, dir)
			view(t, s, func(tx *Tx) error {
				// Each id of a removed node is that of a node added later, or was dropped by Compact.
				if tx.NumNodes()-tx.NumPresent() != before {
					t.Errorf("compacted %v, missing %v: %d nodes are removed, want %d; done: %v", compacted, missing, tx.NumNodes()-tx.NumPresent(), before, done)
				}
				i := 0
				for id, err := range tx.IDs() {
					if err != nil || i >= len(ids) || id != ids[i] {
						t.Fatalf("compacted %v, missing %v: got id %q, %v, want those of before", compacted, missing, id, err)
					}
					i++
				}
				return nil
			})
			closeStore(t, s)
		}
	}
}

// TestRemovalsAreBlocks encodes removed nodes and decodes them again.
func TestRemovalsAreBlocks(t *testing.T) {
	t.Parallel()
	const n = 3*removedPerBlock + 5
	tx := &Tx{cat: newCatalog()}
	tx.cat.Nodes = n
	r := rand.New(rand.NewPCG(1, 1))
	for _, share := range []int{1, 2, 1000} {
		want := NewNodeSet(n)
		for v := range NodeID(n) {
			if r.IntN(share) == 0 {
				want.Add(v)
			}
		}
		got := removedSet{nodes: NewNodeSet(n)}
		err := putRemovedSet(func(key, body []byte) error {
			return tx.addRemoved(&got, record.Record{Key: key, Body: body})
		}, 1, want)
		if err != nil || !slices.Equal(got.nodes, want) || got.count != want.Len() {
			t.Errorf("one in %d: got another set of %d, %v", share, got.count, err)
		}
	}
	beyond, short := make([]byte, removedPerBlock/8), make([]byte, removedPerBlock/8-1)
	beyond[0], short[0] = 1<<5, 1
	for _, body := range [][]byte{nil, short, make([]byte, removedPerBlock/8), beyond} {
		r := record.Record{Key: record.NumberKey(record.KindRemoved, 1, 3), Body: body}
		if err := tx.addRemoved(&removedSet{nodes: NewNodeSet(n)}, r); !errors.Is(err, ErrCorrupt) {
			t.Errorf("body %x: got %v, want ErrCorrupt", body, err)
		}
	}
}
