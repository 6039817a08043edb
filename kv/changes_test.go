package kv

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
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

func track(t *testing.T, s *Store, columns, matrices []string, upTo uint64) {
	t.Helper()
	update(t, s, func(tx *Tx) error { return tx.TrackChanges("test", columns, matrices, upTo) })
}

// wantTouched compares the nodes that were touched since a mark; nil in want stands for all.
func wantTouched(t *testing.T, s *Store, mark uint64, of func(c *Changes) (*Touched, error), want []NodeID) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		c := must.Get(tx.ChangesSince(mark))(t)
		got := must.Get(of(c))(t)
		if got.All != (want == nil) || !got.All && !slices.Equal(slices.Collect(got.Nodes()), want) {
			t.Errorf("since %d: got all %t, nodes %v; want %v", mark, got.All, slices.Collect(got.Nodes()), want)
		}
		return nil
	})
}

func columnOfChanges(name string) func(c *Changes) (*Touched, error) {
	return func(c *Changes) (*Touched, error) { return c.Column(name) }
}

func matrixOfChanges(name string) func(c *Changes) (*Touched, error) {
	return func(c *Changes) (*Touched, error) { return c.Matrix(name) }
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

// TestTrackChangesInALoad tracks from the end of a load on.
func TestTrackChangesInALoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	l := must.Get(NewLoader(t.Context(), dir, LoadOptions{MemoryBudget: minMemoryBudget}))(t)
	for v := range 10 {
		must.Do(t, l.AddNode(Node{ID: fmt.Sprint("n", v)}))
	}
	var mark uint64
	must.Get(l.Commit(t.Context(), func(s *Store) error {
		track(t, s, []string{LabelColumn, "x"}, []string{"m"}, 0)
		mark = lastCommit(t, s)
		writeInBulk(t, s)
		return s.Update(func(tx *Tx) error { return tx.SetLabel(4, "A") })
	}))(t)
	s := openTest(t, dir)
	update(t, s, func(tx *Tx) error { return tx.SetLabel(5, "B") })
	wantTouched(t, s, mark, columnOfChanges(LabelColumn), []NodeID{4, 5})
	wantTouched(t, s, mark, columnOfChanges("x"), nil)
}

// One tracker neither forgets what another may ask for, nor takes its columns away.
func TestTrackersBesideEachOther(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 6)
	as := func(name string, columns []string, upTo uint64) {
		update(t, s, func(tx *Tx) error { return tx.TrackChanges(name, columns, nil, upTo) })
	}
	set := func(v NodeID) {
		update(t, s, func(tx *Tx) error { return errors.Join(tx.SetValue(v, "x", IntValue(7)), tx.SetLabel(v, "A")) })
	}
	update(t, s, func(tx *Tx) error { return tx.AddColumn("x", KindInt) })
	as("one", []string{"x"}, 0)
	mark := lastCommit(t, s)
	set(1)
	as("two", []string{LabelColumn}, 0)
	later := lastCommit(t, s)
	set(2)
	as("two", []string{LabelColumn}, lastCommit(t, s))
	wantTouched(t, s, mark, columnOfChanges("x"), []NodeID{1, 2})
	wantTouched(t, s, later, columnOfChanges(LabelColumn), []NodeID{2})
}

// TestTrackChangesRefuses has calls that change nothing.
func TestTrackChangesRefuses(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 2)
	last := lastCommit(t, s)
	for name, c := range map[string]struct {
		columns, matrices []string
		upTo              uint64
		want              error
	}{
		"no name":                {columns: []string{""}, want: ErrInvalidName},
		"a built-in column":      {columns: []string{"degree"}, want: ErrInvalidName},
		"a matrix without name":  {matrices: []string{"m", ""}, want: ErrInvalidName},
		"commits not yet made":   {upTo: last + 1, want: ErrInvalidValue},
		"a control character":    {columns: []string{"a\nb"}, want: ErrInvalidName},
		"too long for a name":    {columns: []string{strings.Repeat("é", MaxName)}, want: ErrInvalidName},
		"a name that is no text": {matrices: []string{"\xff"}, want: ErrInvalidName},
	} {
		update(t, s, func(tx *Tx) error {
			if err := tx.TrackChanges("test", c.columns, c.matrices, c.upTo); !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, want %v", name, err, c.want)
			}
			return nil
		})
	}
	view(t, s, func(tx *Tx) error {
		if err := tx.TrackChanges("test", nil, nil, 0); !errors.Is(err, ErrReadOnly) {
			t.Errorf("in a snapshot: got %v, want ErrReadOnly", err)
		}
		return nil
	})
	wantNotTracked(t, s, last)
}

// writeInBulk writes a column of ints with a value of node 3, and a matrix with a row of it.
func writeInBulk(t *testing.T, s *Store) {
	t.Helper()
	b := beginBulk(t, s)
	defer b.Abort()
	column, matrix := must.Get(b.Column("x", KindInt))(t), must.Get(b.Matrix("m", []string{"a", "b"}, MatrixEncoding{}))(t)
	must.Do(t, errors.Join(column.Put(3, IntValue(1)), matrix.Put(3, []float32{1, 2}), b.Commit(nil)))
}

// TestLongLists has a commit touch more nodes than the record of a commit holds: the longer list becomes all, the other stays.
func TestLongLists(t *testing.T) {
	t.Parallel()
	const n = 200_000
	s := nodesOnly(t, filepath.Join(t.TempDir(), "store"), n)
	if most := s.mostTouched(); most > n {
		t.Fatalf("a record of a commit holds %d bytes, and there are %d nodes", most, n)
	}
	track(t, s, []string{LabelColumn, "x"}, nil, 0)
	all := make([]NodeID, n)
	for v := range all {
		all[v] = NodeID(v)
	}
	half := all[:n/2]
	mark := lastCommit(t, s)
	update(t, s, func(tx *Tx) error {
		tx.touched.column("x").add(all...)
		tx.touched.column(LabelColumn).add(half...)
		return tx.PutDocument("some", "document", 1)
	})
	wantTouched(t, s, mark, columnOfChanges("x"), nil)
	wantTouched(t, s, mark, columnOfChanges(LabelColumn), half)
	must.Do(t, s.Compact(t.Context(), nil))
	wantTouched(t, s, mark, columnOfChanges(LabelColumn), half)
	checkClean(t, s)
}

// TestBulkTouchesAll has a Bulk write a column and a matrix, and another one drop the matrix.
func TestBulkTouchesAll(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 10)
	track(t, s, []string{"x", "y"}, []string{"m"}, 0)
	mark := lastCommit(t, s)
	writeInBulk(t, s)
	wantTouched(t, s, mark, columnOfChanges("x"), nil)
	wantTouched(t, s, mark, columnOfChanges("y"), []NodeID{})
	wantTouched(t, s, mark, matrixOfChanges("m"), nil)

	mark = lastCommit(t, s)
	b := beginBulk(t, s)
	defer b.Abort()
	must.Do(t, errors.Join(b.DropMatrix("m"), b.Commit(nil)))
	wantTouched(t, s, mark, matrixOfChanges("m"), nil)
	wantTouched(t, s, mark, columnOfChanges("x"), []NodeID{})
}

// TestForgottenChanges has the store forget the changes up to a commit: their records are removed by the next sweep.
func TestForgottenChanges(t *testing.T) {
	const commits = 40
	s := newStore(t, Options{})
	addNodes(t, s, commits)
	track(t, s, []string{LabelColumn}, nil, 0)
	for v := range NodeID(commits) {
		relabel(t, s, v, "A")
	}
	middle := lastCommit(t, s) - commits/2
	track(t, s, []string{LabelColumn}, nil, middle)
	wantNotTracked(t, s, middle-1)
	must.Do(t, s.Compact(t.Context(), nil))
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
