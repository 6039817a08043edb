package kv

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

func TestWorkOutlivesTheStore(t *testing.T) {
	s := newStore(t, Options{})
	dir := s.Dir()
	w, done, err := s.Work(t.Context())
	must.Do(t, err)
	waiting, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Work(waiting); !errors.Is(err, context.Canceled) {
		t.Errorf("a second Work beside the first: got %v, want context.Canceled", err)
	}
	a, err := scratch.New[uint32](w, "numbers", 3)
	must.Do(t, err)
	a.Data[2] = 7
	must.Do(t, errors.Join(a.Sync(), a.Detach(), done(), s.Close()))

	s = openStore(t, dir, Options{})
	checkClean(t, s)
	if w, done, err = s.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a, err = scratch.Keep[uint32](w, "numbers", 3, true); err != nil {
		t.Fatal(err)
	}
	if a.Data[2] != 7 {
		t.Errorf("after opening the store again: got %d, want 7", a.Data[2])
	}
	must.Do(t, errors.Join(a.Close(), done(), s.Close()))
	if _, err := os.Stat(filepath.Join(dir, storedir.WorkName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty directory of work: got %v, want it gone", err)
	}
	s = openStore(t, dir, Options{ReadOnly: true})
	if _, _, err := s.Work(t.Context()); !errors.Is(err, ErrReadOnly) {
		t.Errorf("read-only: got %v, want ErrReadOnly", err)
	}
	if got, want := s.Scratch().Path(), os.TempDir(); got != want {
		t.Errorf("temporary arrays of a store opened read-only: got them in %s, want %s", got, want)
	}
}

// TestVersions changes one part of a store at a time and looks which versions differ.
func TestVersions(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 5)
	const matrix = "m"
	makeMatrix(t, s, matrix, "a")
	update(t, s, func(tx *Tx) error { return errors.Join(tx.AddColumn("p", KindInt), tx.AddEdge(0, 1)) })
	versions := func() (got [4]string) {
		view(t, s, func(tx *Tx) error {
			var errs [4]error
			got[0], errs[0] = tx.Version(nil, nil)
			got[1], errs[1] = tx.Version([]string{LabelColumn}, nil)
			got[2], errs[2] = tx.Version([]string{"p"}, nil)
			got[3], errs[3] = tx.Version(nil, []string{matrix})
			return errors.Join(errs[:]...)
		})
		return got
	}
	before := versions()
	if again := versions(); again != before {
		t.Errorf("nothing changed: got %v, want %v", again, before)
	}
	const graph, label, property, rows = 0, 1, 2, 3
	for _, c := range []struct {
		name    string
		changed []int
		change  func(tx *Tx) error
	}{
		{"label", []int{label}, func(tx *Tx) error { return tx.SetLabel(2, "x") }},
		{"another label", []int{label}, func(tx *Tx) error { return tx.SetLabel(2, "y") }},
		{"one edge for another", []int{graph, label, property, rows}, func(tx *Tx) error {
			return errors.Join(tx.RemoveEdge(0, 1), tx.AddEdge(2, 3))
		}},
		{"value", []int{property}, func(tx *Tx) error { return tx.SetValue(1, "p", ValueOf(4)) }},
		{"row", []int{rows}, func(tx *Tx) error { return tx.SetRow(matrix, 1, []float32{3}) }},
		{"the same row", nil, func(tx *Tx) error { return tx.SetRow(matrix, 1, []float32{3}) }},
		{"document", nil, func(tx *Tx) error { return tx.Documents("s").Put("k", 1) }},
	} {
		update(t, s, c.change)
		after := versions()
		want := before
		for _, i := range c.changed {
			want[i] = after[i]
			if after[i] == before[i] {
				t.Errorf("%s changed: version %d is the same", c.name, i)
			}
		}
		if after != want {
			t.Errorf("%s changed: got versions %v, want only %v to differ from %v", c.name, after, c.changed, before)
		}
		before = after
	}
	must.Do(t, s.Compact(t.Context(), nil))
	if after := versions(); after[graph] == before[graph] {
		t.Error("compacted: the version of the graph is the same")
	}
}

// TestVersionsTellStepsBack puts back a store as it once was, and goes on in another way with as many commits and
// generations: every version differs. Going on in the same way gives the same versions.
func TestVersionsTellStepsBack(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	addNodes(t, s, 5)
	makeMatrix(t, s, "rows", "a")
	closeStore(t, s)
	goOn := func(bulk, deltas bool, x int) (got [5]string) {
		s := openStore(t, copyStore(t, s.Dir()), Options{})
		name := strconv.Itoa(x)
		if bulk {
			update(t, s, func(tx *Tx) error {
				_, err := tx.AddNode(Node{ID: name})
				return errors.Join(err, tx.AddEdge(NodeID(x), 0))
			})
			must.Do(t, s.Compact(t.Context(), nil))
			b := must.Get(s.Bulk(context.Background()))(t)
			defer b.Abort()
			c := must.Get(b.Column("c", KindInt))(t)
			m := must.Get(b.Matrix("m", []string{"a"}))(t)
			c.Sort()
			m.Sort()
			for _, v := range []NodeID{2, 1} {
				must.Do(t, errors.Join(c.Put(v, ValueOf(int64(x))), m.Put(v, []float32{float32(x)})))
			}
			must.Do(t, b.Commit(nil))
		}
		if deltas {
			update(t, s, func(tx *Tx) error {
				_, err := tx.AddNode(Node{ID: "added " + name})
				return errors.Join(err, tx.SetValue(1, LabelColumn, ValueOf(name)), tx.SetRow("rows", 1, []float32{float32(x)}))
			})
		}
		view(t, s, func(tx *Tx) error {
			var errs [5]error
			got[0], errs[0] = tx.Version(nil, nil)
			if bulk {
				got[1], errs[1] = tx.Version([]string{"c"}, nil)
				got[2], errs[2] = tx.Version(nil, []string{"m"})
			}
			if deltas {
				got[3], errs[3] = tx.Version([]string{LabelColumn}, nil)
				got[4], errs[4] = tx.Version(nil, []string{"rows"})
			}
			return errors.Join(errs[:]...)
		})
		closeStore(t, s)
		return got
	}
	for _, kinds := range [][2]bool{{true, false}, {false, true}} {
		one, again, other := goOn(kinds[0], kinds[1], 1), goOn(kinds[0], kinds[1], 1), goOn(kinds[0], kinds[1], 2)
		if again != one {
			t.Errorf("bulk %t: gone on in the same way: got %v, want %v", kinds[0], again, one)
		}
		for i := range one {
			if one[i] != "" && one[i] == other[i] {
				t.Errorf("bulk %t: gone on in another way: version %d is the same", kinds[0], i)
			}
		}
	}
}
