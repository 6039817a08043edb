package kv

import (
	"errors"
	"fmt"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// wantValues compares degrees and labels of all nodes with those that are read one by one.
func wantValues(t *testing.T, of string, tx *Tx) (degrees *NodeValues[uint32]) {
	t.Helper()
	degrees, ok, err := tx.AllDegrees(tx.NumNodes())
	labels, ok2, err2 := tx.AllLabels(tx.NumNodes())
	if err := errors.Join(err, err2); err != nil || !ok || !ok2 {
		t.Fatalf("%s: got degrees %t, labels %t, %v", of, ok, ok2, err)
	}
	for v := range NodeID(tx.NumNodes() + 3) {
		degree, err := tx.Degree(v)
		label, err2 := tx.Label(v)
		if errors.Is(err, ErrNotFound) {
			degree, err, label, err2 = 0, nil, NoClass, nil
		}
		if degrees.Of(v) != uint32(degree) || labels.Of(v) != label || err != nil || err2 != nil {
			t.Errorf("%s: node %d: got degree %d, label %d; want %d, %d; %v", of, v, degrees.Of(v), labels.Of(v), degree, label, errors.Join(err, err2))
		}
	}
	return degrees
}

// pathStore has nodes in a path, with labels.
func pathStore(t *testing.T, opt Options, n int) *Store {
	t.Helper()
	s := newStore(t, opt)
	addNodes(t, s, n)
	for first := 0; first < n-1; first += 512 {
		update(t, s, func(tx *Tx) error {
			for v := NodeID(first); int(v) < min(first+512, n-1); v++ {
				must.Do(t, errors.Join(tx.AddEdge(v, v+1), tx.SetLabel(v, fmt.Sprint(v%3))))
			}
			return nil
		})
	}
	return s
}

// TestNodeValues asks in snapshots that began at other times, in an Update and beside it, after a removal of a node
// whose id comes again, and after Compact.
func TestNodeValues(t *testing.T) {
	const n = max(3*pageNodes, 2*leastReadSingly)
	s := pathStore(t, Options{}, n)
	older := s.Begin()
	defer older.Close()
	var before, after *NodeValues[uint32]
	view(t, s, func(tx *Tx) error {
		before = wantValues(t, "at first", tx)
		return nil
	})
	update(t, s, func(tx *Tx) error { return errors.Join(tx.AddEdge(0, 5), tx.SetLabel(7, "9")) })
	view(t, s, func(tx *Tx) error {
		after = wantValues(t, "after a commit", tx)
		return nil
	})
	if before.pages[0] == after.pages[0] || before.pages[1] != after.pages[1] || before.pages[2] != after.pages[2] {
		t.Error("want the first page to be another, and the others to be shared")
	}
	wantValues(t, "an older snapshot", older)

	update(t, s, func(tx *Tx) error {
		if _, ok, err := tx.AllDegrees(n); ok || err != nil {
			t.Errorf("in an Update: got degrees %t, %v, want none", ok, err)
		}
		view(t, s, func(beside *Tx) error {
			wantValues(t, "a snapshot beside an Update", beside)
			return nil
		})
		return nil
	})
	var id string
	update(t, s, func(tx *Tx) (err error) {
		id, err = tx.ID(9)
		return errors.Join(err, tx.RemoveNode(9))
	})
	update(t, s, func(tx *Tx) error {
		v, err := tx.AddNode(Node{ID: id, Label: "1"})
		return errors.Join(err, tx.AddEdge(v, 0))
	})
	view(t, s, func(tx *Tx) error {
		wantValues(t, "after a removal", tx)
		return nil
	})
	must.Do(t, s.Compact(t.Context(), nil))
	update(t, s, func(tx *Tx) error { return tx.AddEdge(1, n-1) })
	view(t, s, func(tx *Tx) error {
		wantValues(t, "after Compact", tx)
		return nil
	})
	wantValues(t, "a snapshot from before all of that", older)
	update(t, s, func(tx *Tx) error { // more than are read one by one
		for v := range NodeID(leastReadSingly + 1) {
			must.Do(t, tx.SetLabel(10+v, "another"))
		}
		return nil
	})
	view(t, s, func(tx *Tx) error {
		wantValues(t, "after many changed", tx)
		return nil
	})
}

// TestFewNodeValues asks for few: the store reads all for nobody who asks for few, and then only those that changed.
func TestFewNodeValues(t *testing.T) {
	const n = 2 * leastReadSingly
	s := pathStore(t, Options{}, n)
	want := func(of string, asked int, want bool) {
		t.Helper()
		view(t, s, func(tx *Tx) error {
			if _, ok, err := tx.AllLabels(asked); ok != want || err != nil {
				t.Errorf("%s: asked for %d: got labels %t, %v; want %t", of, asked, ok, err, want)
			}
			return nil
		})
	}
	want("at first", n/readAllShare, false)
	want("at first", n/readAllShare+1, true)
	want("once they are kept", 1, true)
	update(t, s, func(tx *Tx) error { return errors.Join(tx.SetLabel(1, "A"), tx.SetLabel(2, "A"), tx.SetLabel(3, "A")) })
	want("after three changed", 2, false)
	want("after three changed", 3, true)
	view(t, s, func(tx *Tx) error {
		wantValues(t, "after three changed", tx)
		return nil
	})
}

// TestNodeValuesThatAreNotKept asks where memory is too small.
func TestNodeValuesThatAreNotKept(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 5)
	s.opt.MemoryBudget = 5*4*nodeValuesShare - 1
	view(t, s, func(tx *Tx) error {
		if _, ok, err := tx.AllLabels(tx.NumNodes()); ok || err != nil {
			t.Errorf("got labels %t, %v, want none", ok, err)
		}
		return nil
	})
}
