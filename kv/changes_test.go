package kv

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

func lastCommit(t *testing.T, s *Store) (number uint64) {
	t.Helper()
	view(t, s, func(tx *Tx) (err error) {
		number, err = tx.LastCommit()
		return err
	})
	return number
}

// wantTouched compares the nodes that were touched since a mark; nil in want stands for all.
func wantTouched(t *testing.T, s *Store, mark uint64, of func(c *Changes) *Touched, want []NodeID) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		c := must.Get(tx.ChangesSince(mark))(t)
		got := of(c)
		if got.All != (want == nil) || !got.All && !slices.Equal(slices.Collect(got.Nodes()), want) {
			t.Errorf("since %d: got all %t, nodes %v; want %v", mark, got.All, slices.Collect(got.Nodes()), want)
		}
		return nil
	})
}

func columnOfChanges(name string) func(c *Changes) *Touched {
	return func(c *Changes) *Touched { return c.Column(name) }
}

func wantNotTracked(t *testing.T, s *Store, mark uint64) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		if _, err := tx.ChangesSince(mark); !errors.Is(err, ErrNotTracked) {
			t.Errorf("changes since %d: got %v, want ErrNotTracked", mark, err)
		}
		return nil
	})
}

// TestChangesInALoad asks for what changed since the last step of a load.
func TestChangesInALoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	l := must.Get(NewLoader(t.Context(), dir, LoadOptions{MemoryBudget: minMemoryBudget}))(t)
	for v := range 10 {
		must.Do(t, l.AddNode(Node{ID: fmt.Sprint("n", v)}))
	}
	var mark uint64
	must.Get(l.Commit(t.Context(), func(s *Store) error {
		mark = lastCommit(t, s)
		writeInBulk(t, s)
		return s.Update(func(tx *Tx) error { return tx.SetLabel(4, "A") })
	}))(t)
	s := openTest(t, dir)
	update(t, s, func(tx *Tx) error { return tx.SetLabel(5, "B") })
	wantTouched(t, s, mark, columnOfChanges(LabelColumn), []NodeID{4, 5})
	wantTouched(t, s, mark, columnOfChanges("x"), nil)
}

// writeInBulk writes a column of ints with a value of node 3, and a matrix with a row of it.
func writeInBulk(t *testing.T, s *Store) {
	t.Helper()
	b := beginBulk(t, s)
	defer b.Abort()
	column, matrix := must.Get(b.Column("x", KindInt))(t), must.Get(b.Matrix("m", []string{"a", "b"}))(t)
	must.Do(t, errors.Join(column.Put(3, ValueOf(1)), matrix.Put(3, []float32{1, 2}), b.Commit(nil)))
}

// TestForgottenChanges has the store forget the changes up to a commit: the next fold leaves out their records.
func TestForgottenChanges(t *testing.T) {
	const commits = 40
	s := newStore(t, Options{})
	addNodes(t, s, commits)
	for v := range NodeID(commits) {
		relabel(t, s, v, "A")
	}
	middle := lastCommit(t, s) - commits/2
	update(t, s, func(tx *Tx) error {
		c, err := tx.change()
		c.ChangesFrom = middle
		return err
	})
	wantNotTracked(t, s, middle-1)
	closeStore(t, s) // which makes a table of them
	s = openStore(t, s.Dir(), Options{})
	must.Do(t, foldNow(s))
	records := 0
	view(t, s, func(tx *Tx) error {
		for _, err := range tx.records().Scan([]byte{byte(record.KindChanges)}, nil) {
			must.Do(t, err)
			records++
		}
		return nil
	})
	if after := int(lastCommit(t, s) - middle); records != after {
		t.Errorf("got the records of %d commits, want those of %d", records, after)
	}
	var later []NodeID
	for v := range NodeID(commits) {
		if v >= commits/2 {
			later = append(later, v)
		}
	}
	wantTouched(t, s, middle, columnOfChanges(LabelColumn), later)
	checkClean(t, s)
}

// Of many commits the last ones are known, and those since a Repair.
func TestChangesFrom(t *testing.T) {
	for _, c := range []struct{ from, last, want uint64 }{
		{0, 5, 0}, {3, 5, 3}, {0, keptCommits, 0}, {0, keptCommits + 7, 7}, {9, keptCommits + 7, 9}, {6, keptCommits + 7, 7},
	} {
		if got := (&catalog{ChangesFrom: c.from}).changesFrom(c.last); got != c.want {
			t.Errorf("from %d, the last being %d: got %d, want %d", c.from, c.last, got, c.want)
		}
	}
}

// labelsSince are the nodes whose label was set since a mark.
func labelsSince(t *testing.T, tx *Tx, mark uint64) []NodeID {
	t.Helper()
	c := must.Get(tx.ChangesSince(mark))(t)
	touched := c.Column(LabelColumn)
	return slices.Collect(touched.Nodes())
}

// relabel sets the label of a node, in a commit of its own.
func relabel(t *testing.T, s *Store, v NodeID, label string) {
	t.Helper()
	update(t, s, func(tx *Tx) error { return tx.SetLabel(v, label) })
}

// TestChangesOfAnOpenUpdate asks in an Update, which is given up, while an older snapshot and a new one ask too.
func TestChangesOfAnOpenUpdate(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 9)
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
		for v := NodeID(8); v > 3; v-- {
			must.Do(t, tx.SetLabel(v, "B"))
		}
		c := must.Get(tx.ChangesSince(mark))(t)
		must.Do(t, errors.Join(tx.SetLabel(3, "B"), tx.SetLabel(2, "C")))
		want("the transaction", tx, 1, 2, 3, 4, 5, 6, 7, 8)
		touched := c.Column(LabelColumn)
		if got := slices.Collect(touched.Nodes()); !slices.Equal(got, []NodeID{1, 2, 4, 5, 6, 7, 8}) {
			t.Errorf("asked before the last writes: got %v, want 1, 2, 4, 5, 6, 7 and 8", got)
		}
		want("the older snapshot", older, 1)
		now := s.Begin()
		defer now.Close()
		want("a new snapshot", now, 1, 2)
		return givenUp
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

// TestChangesBesideAWriter has readers ask for changes while commits follow each other.
func TestChangesBesideAWriter(t *testing.T) {
	const n, commits = 200, 150
	s := newStore(t, Options{})
	addNodes(t, s, n)
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
				if count := c.Column(LabelColumn).Count(); count != seen { // a node each
					t.Errorf("after %d commits: got %d nodes", seen, count)
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
