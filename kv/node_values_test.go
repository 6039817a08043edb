package kv

import (
	"errors"
	"fmt"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// wantValues compares degrees and labels of all nodes with those that are read one by one.
func wantValues(t *testing.T, of string, tx *Tx) {
	t.Helper()
	n := tx.NumNodes()
	degrees, err := tx.AllDegrees(n)
	labels, err2 := tx.AllLabels(n)
	if err := errors.Join(err, err2); err != nil || len(degrees) != n || len(labels) != n {
		t.Fatalf("%s: got %d degrees, %d labels, %v, want %d", of, len(degrees), len(labels), err, n)
	}
	for v := range NodeID(n) {
		degree, err := tx.Degree(v)
		label, err2 := tx.Label(v)
		if errors.Is(err, ErrNotFound) {
			degree, err, label, err2 = 0, nil, NoClass, nil
		}
		if degrees[v] != uint32(degree) || labels[v] != label || err != nil || err2 != nil {
			t.Errorf("%s: node %d: got degree %d, label %d; want %d, %d; %v", of, v, degrees[v], labels[v], degree, label, errors.Join(err, err2))
		}
	}
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
	const n = 3 * leastReadSingly
	s := pathStore(t, Options{}, n)
	older := s.Begin()
	defer older.Close()
	view(t, s, func(tx *Tx) error {
		wantValues(t, "at first", tx)
		return nil
	})
	update(t, s, func(tx *Tx) error { return errors.Join(tx.AddEdge(0, 5), tx.SetLabel(7, "9")) })
	view(t, s, func(tx *Tx) error {
		wantValues(t, "after a commit", tx)
		return nil
	})
	wantValues(t, "an older snapshot", older)

	update(t, s, func(tx *Tx) error {
		if got, err := tx.AllDegrees(n); got != nil || err != nil {
			t.Errorf("in an Update: got %d degrees, %v, want none", len(got), err)
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
			if got, err := tx.AllLabels(asked); (got != nil) != want || err != nil {
				t.Errorf("%s: asked for %d: got %d labels, %v; want some %t", of, asked, len(got), err, want)
			}
			return nil
		})
	}
	want("at first", n/readAllShare, false)
	want("at first", n/readAllShare+1, true)
	want("once they are kept", 1, true)
	update(t, s, func(tx *Tx) error { return errors.Join(tx.SetLabel(1, "A"), tx.SetLabel(2, "A"), tx.SetLabel(3, "A")) })
	want("after three changed", 1, true)
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
		if got, err := tx.AllLabels(tx.NumNodes()); got != nil || err != nil {
			t.Errorf("got %d labels, %v, want none", len(got), err)
		}
		return nil
	})
}
