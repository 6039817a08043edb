package kv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// difference shows the first lines in which two texts differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(g), len(w))
}

// copyAtRest is copyStore of a store whose files Badger may be merging: it copies until they were the same before and
// after.
func copyAtRest(t *testing.T, dir string) string {
	t.Helper()
	listing := func() (list string) {
		entries := must.Get(os.ReadDir(dir))(t)
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				return "" // it has just been deleted
			}
			list += fmt.Sprintf("%s %d\n", entry.Name(), info.Size())
		}
		return list
	}
	for {
		before := listing()
		to := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(to, os.DirFS(dir)); err == nil && before != "" && before == listing() {
			return to
		}
	}
}

// TestSmallUpdatesLeaveTheCatalogue compares the commits that wrote the catalogue and the counts last.
func TestSmallUpdatesLeaveTheCatalogue(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	makeMatrix(t, s, "m", "x", "y")
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.AddEdge(0, 1), tx.SetLabel(0, "a"), tx.SetRow("m", 0, []float32{1, 2}))
	})
	versions := func() (catalogue, counts uint64) {
		t.Helper()
		view(t, s, func(*Tx) error {
			latest := s.latest.Load()
			catalogue, counts = latest.version, latest.countsVersion
			return nil
		})
		return catalogue, counts
	}
	for _, test := range []struct {
		name              string
		write             func(tx *Tx) error
		catalogue, counts bool
	}{
		{"a node", func(tx *Tx) error { _, err := tx.AddNode(Node{ID: "added", Label: "a"}); return err }, false, true},
		{"an edge", func(tx *Tx) error { return tx.AddEdge(1, 2) }, false, true},
		{"no edge", func(tx *Tx) error { return tx.RemoveEdge(1, 2) }, false, true},
		{"a label", func(tx *Tx) error { return tx.SetLabel(2, "a") }, false, false},
		{"no label", func(tx *Tx) error { return tx.SetLabel(1, "") }, false, false},
		{"a row", func(tx *Tx) error { return tx.SetRow("m", 1, []float32{3, 4}) }, false, false},
		{"a mark that is there", func(tx *Tx) error { return tx.SetIndexed(LabelColumn, false) }, false, false},
		{"a space that is not", func(tx *Tx) error { return tx.Space("none").Drop() }, false, false},
		{"a new class", func(tx *Tx) error { return tx.SetLabel(2, "b") }, true, true},
		{"a new column", func(tx *Tx) error { return tx.AddColumn("x", KindInt) }, true, true},
		{"its first value", func(tx *Tx) error { return tx.SetValue(2, "x", ValueOf(1)) }, true, true},
		{"another value", func(tx *Tx) error { return tx.SetValue(2, "x", ValueOf(2)) }, false, false},
		{"a node of a new class", func(tx *Tx) error { _, err := tx.AddNode(Node{ID: "other", Label: "c"}); return err },
			true, true},
	} {
		catalogue, counts := versions()
		update(t, s, test.write)
		newCatalogue, newCounts := versions()
		if got := newCatalogue != catalogue; got != test.catalogue {
			t.Errorf("%s: the catalogue was written: %t, want %t", test.name, got, test.catalogue)
		}
		if got := newCounts != counts; got != test.counts {
			t.Errorf("%s: the counts were written: %t, want %t", test.name, got, test.counts)
		}
	}
	checkClean(t, s)
}
