package kv

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// labelsSince are the nodes whose label was set since a mark.
func labelsSince(t *testing.T, tx *Tx, mark uint64) []NodeID {
	t.Helper()
	c := must.Get(tx.ChangesSince(mark))(t)
	touched := must.Get(c.Column(LabelColumn))(t)
	return slices.Collect(touched.Nodes())
}

// relabel sets the label of a node, in a commit of its own.
func relabel(t *testing.T, s *Store, v NodeID, label string) {
	t.Helper()
	update(t, s, func(tx *Tx) error { return tx.SetLabel(v, label) })
}

// loseChanges removes what the disk has of the changes of a commit. The result puts it back.
func loseChanges(t *testing.T, s *Store, number uint64) (putBack func()) {
	t.Helper()
	var key, body []byte
	update(t, s, func(tx *Tx) error {
		key = record.PartKey(changesKey(tx.cat.Tracking.Generation, number), 0)
		err := tx.records().Get(key, func(b []byte) error {
			body = slices.Clone(b)
			return nil
		})
		return errors.Join(err, tx.remove(key))
	})
	return func() { update(t, s, func(tx *Tx) error { return tx.put(key, body) }) }
}

// TestChangesAreReadOnce has the disk lose the changes of a commit: who asked before does not notice.
func TestChangesAreReadOnce(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 9)
	track(t, s, []string{LabelColumn}, nil, 0)
	first := lastCommit(t, s)
	relabel(t, s, 5, "A")
	relabel(t, s, 3, "A")
	middle := lastCommit(t, s)
	relabel(t, s, 4, "A")
	view(t, s, func(tx *Tx) error {
		labelsSince(t, tx, middle-1)
		return nil
	})
	putBack := loseChanges(t, s, middle)
	defer putBack()
	relabel(t, s, 3, "B")
	view(t, s, func(tx *Tx) error {
		for mark, want := range map[uint64][]NodeID{middle - 1: {3, 4}, middle: {3, 4}, middle + 1: {3}} {
			if got := labelsSince(t, tx, mark); !slices.Equal(got, want) {
				t.Errorf("since %d: got %v, want %v", mark, got, want)
			}
		}
		if _, err := tx.ChangesSince(first); !errors.Is(err, ErrCorrupt) {
			t.Errorf("since before what was asked for: got %v, want ErrCorrupt", err)
		}
		return nil
	})
}

// TestChangesOfAnOpenUpdate asks in an Update, which is given up, while an older snapshot and a new one ask too.
func TestChangesOfAnOpenUpdate(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 9)
	track(t, s, []string{LabelColumn}, nil, 0)
	mark := lastCommit(t, s)
	relabel(t, s, 1, "A")
	older := s.Begin()
	defer older.Close()
	relabel(t, s, 2, "A")
	want := func(of string, tx *Tx, want ...NodeID) {
		t.Helper()
		if got := labelsSince(t, tx, mark); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", of, got, want)
		}
	}
	givenUp := errors.New("given up")
	err := s.Update(func(tx *Tx) error {
		for v := NodeID(8); v > 3; v-- { // their slice has room for the next ones
			if err := tx.SetLabel(v, "B"); err != nil {
				return err
			}
		}
		c, err := tx.ChangesSince(mark)
		if err != nil {
			return err
		}
		if err := errors.Join(tx.SetLabel(3, "B"), tx.SetLabel(2, "C")); err != nil {
			return err
		}
		want("the transaction", tx, 1, 2, 3, 4, 5, 6, 7, 8)
		touched, err := c.Column(LabelColumn)
		if got := slices.Collect(touched.Nodes()); !slices.Equal(got, []NodeID{1, 2, 4, 5, 6, 7, 8}) {
			t.Errorf("asked before the last writes: got %v, want 1, 2, 4, 5, 6, 7 and 8", got)
		}
		want("the older snapshot", older, 1)
		now := s.Begin()
		defer now.Close()
		want("a new snapshot", now, 1, 2)
		return errors.Join(err, givenUp)
	})
	if !errors.Is(err, givenUp) {
		t.Fatal(err)
	}
	relabel(t, s, 4, "A")
	view(t, s, func(tx *Tx) error {
		want("after it was given up", tx, 1, 2, 4)
		return nil
	})
}

// TestMoreThan counts nodes that were touched several times, in memory and on the disk.
func TestMoreThan(t *testing.T) {
	for _, limit := range []int64{1 << 20, 0} {
		s := newStore(t, Options{})
		s.changes.limit = limit
		addNodes(t, s, 9)
		track(t, s, []string{LabelColumn}, nil, 0)
		mark := lastCommit(t, s)
		for i := range 12 {
			relabel(t, s, NodeID(i%4), fmt.Sprint(i))
		}
		update(t, s, func(tx *Tx) error {
			must.Do(t, errors.Join(tx.SetLabel(3, "B"), tx.SetLabel(7, "B")))
			c := must.Get(tx.ChangesSince(mark))(t)
			touched, err := c.Column(LabelColumn)
			for n := range 8 {
				if got := touched.MoreThan(n); got != (n < 5) {
					t.Errorf("limit %d: more than %d: got %t, and 5 were touched", limit, n, got)
				}
			}
			return err
		})
	}
}

// TestChangesInMemoryAreBounded has more changes than memory for them: they are read from the disk, and those since a later mark are kept.
func TestChangesInMemoryAreBounded(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 100)
	track(t, s, []string{LabelColumn}, nil, 0)
	s.changes.limit = 20 * touchSize
	first := lastCommit(t, s)
	labelled := map[NodeID]bool{}
	for i := range NodeID(60) {
		relabel(t, s, i*7%100, "A")
		labelled[i*7%100] = true
		view(t, s, func(tx *Tx) error {
			if got, want := labelsSince(t, tx, first), slices.Sorted(maps.Keys(labelled)); !slices.Equal(got, want) {
				t.Fatalf("after %d commits: got %v, want %v", i+1, got, want)
			}
			return nil
		})
		if kept := s.changes.kept; kept != nil && kept.size > s.changes.limit {
			t.Fatalf("after %d commits: got %d bytes, want at most %d", i+1, kept.size, s.changes.limit)
		}
	}
	if s.changes.kept != nil {
		t.Error("the changes since the first mark are kept, want none: they are too many")
	}
	last := lastCommit(t, s)
	view(t, s, func(tx *Tx) error {
		if got := labelsSince(t, tx, last-2); len(got) != 2 {
			t.Errorf("got %v, want two nodes", got)
		}
		return nil
	})
	if s.changes.kept == nil {
		t.Error("the changes since a later mark are not kept")
	}

	// What the store has forgotten is forgotten here too.
	track(t, s, []string{LabelColumn}, nil, last-1)
	view(t, s, func(tx *Tx) error {
		labelsSince(t, tx, last)
		return nil
	})
	if got := s.changes.kept.first; got != last {
		t.Errorf("got changes since %d, want those since %d", got, last)
	}
}

// TestChangesBesideAWriter has readers ask while commits follow each other.
func TestChangesBesideAWriter(t *testing.T) {
	const n, commits = 200, 150
	s := newStore(t, Options{})
	addNodes(t, s, n)
	track(t, s, []string{LabelColumn}, nil, 0)
	mark := lastCommit(t, s)
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for seen := 0; seen < commits; {
				tx := s.Begin()
				last, err := tx.LastCommit()
				if err != nil {
					t.Error(err)
					return
				}
				seen = int(last - mark)
				c, err := tx.ChangesSince(mark)
				if err != nil {
					t.Error(err)
					return
				}
				if touched, err := c.Column(LabelColumn); err != nil || touched.Count() != seen { // a node each
					t.Errorf("after %d commits: got %d nodes, %v", seen, touched.Count(), err)
					return
				}
				tx.Close()
			}
		})
	}
	for i := range commits {
		relabel(t, s, NodeID(i), "A")
	}
	readers.Wait()
}

// TestChangesOfAGivenUpMark has an Update move the mark of the tracking and be given up: what is in memory still serves.
func TestChangesOfAGivenUpMark(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 9)
	track(t, s, []string{LabelColumn}, nil, 0)
	mark := lastCommit(t, s)
	relabel(t, s, 5, "A")
	number := lastCommit(t, s)
	givenUp := errors.New("given up")
	err := s.Update(func(tx *Tx) error {
		if err := tx.TrackChanges("test", []string{LabelColumn}, nil, number); err != nil {
			return err
		}
		if got := labelsSince(t, tx, number); len(got) != 0 {
			t.Errorf("since the new mark: got %v, want no labels", got)
		}
		return givenUp
	})
	if !errors.Is(err, givenUp) {
		t.Fatal(err)
	}
	read := func() []NodeID {
		tx := s.Begin()
		defer tx.Close()
		return labelsSince(t, tx, mark)
	}
	read()
	defer loseChanges(t, s, number)()
	if got := read(); !slices.Equal(got, []NodeID{5}) {
		t.Errorf("got the labels of %v, want those of node 5 from memory", got)
	}
}
