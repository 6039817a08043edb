package kv

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestGenerationsOfWhatIsGivenUp gives up a Patch whose graph was read, and a Bulk whose space cannot be removed. An
// Update that follows has other generations: else it would read what they left.
func TestGenerationsOfWhatIsGivenUp(t *testing.T) {
	s := newStore(t, Options{})
	stop := errors.New("stop")
	rows := func(_ context.Context, tx *Tx, _ func(string, NodeID, []float32) error) error {
		_, err := tx.Degree(0)
		return cmp.Or(err, stop)
	}
	p := must.Get(s.NewPatch(PatchOptions{most: 1, Rows: rows}))(t)
	must.Do(t, errors.Join(p.AddNode(Node{ID: "x"}), p.AddNode(Node{ID: "y"}), p.AddEdge("x", "y", 0)))
	if _, err := p.Commit(t.Context()); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	addNodes(t, s, 3)
	view(t, s, func(tx *Tx) error { return tx.ReadDegrees(Range{End: 3}, make([]uint32, 3)) })

	b := must.Get(s.Bulk(t.Context()))(t)
	put := must.Get(b.Space("old"))(t)
	must.Do(t, put([]byte("ghost"), nil))
	err := b.Commit(func(*Tx) error {
		return errors.Join(stop, os.Mkdir(filepath.Join(s.Dir(), "spill-replace.tmp"), 0o700))
	})
	if b.Abort(); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	update(t, s, func(tx *Tx) error { return tx.Space("new").Put([]byte("key"), nil) })
	view(t, s, func(tx *Tx) error {
		_, err := tx.Space("new").Get([]byte("ghost"))
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("an entry that nobody has committed: got %v, want ErrNotFound", err)
		}
		return nil
	})
}

// TestCraftedSizes opens stores that say they have more nodes, or a longer log, than any has.
func TestCraftedSizes(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	long := copyStore(t, s.Dir())
	must.Do(t, os.Truncate(filepath.Join(long, fileNames(t, long, "*.mem")[0]), 1<<42))
	must.Do(t, s.setMessage(countsKey(), counts{Nodes: 1 << 62}))
	damagedStores.Store(s.Dir(), true)
	for _, dir := range []string{long, copyStore(t, s.Dir())} {
		damagedStores.Store(dir, true)
		if _, err := Open(dir, Options{MemoryBudget: minMemoryBudget}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v, want ErrCorrupt", dir, err)
		}
	}
}
