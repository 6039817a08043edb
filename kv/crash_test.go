package kv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A crashedStore is a store after a crash that followed a number of small commits, and some of its files as they were
// earlier.
type crashedStore struct {
	dir     string
	early   string // the files after three commits
	commits int
	second  int64 // where the second commit ends in Badger's log
	want    map[string]string
}

// crashStore makes a crashedStore, with a Bulk before the last commits.
func crashStore(t *testing.T) crashedStore {
	t.Helper()
	s := newStore(t, Options{})
	addNodes(t, s, 20)
	closeStore(t, s)
	s = openStore(t, s.Dir(), Options{})
	c := crashedStore{commits: 10}
	for i := range c.commits {
		if i == 3 {
			c.early = copyStore(t, s.Dir())
		}
		if i == 6 {
			writeMatrix(t, s)
		}
		update(t, s, func(tx *Tx) error {
			err := tx.Space("decisions").Put(fmt.Append(nil, i), []byte("a decision"))
			return errors.Join(err, tx.SetLabel(NodeID(i), fmt.Sprint("class ", i)))
		})
		if i == 1 {
			c.second = logEnd(t, s.Dir())
		}
	}
	c.dir = copyStore(t, s.Dir())
	var err error
	if c.want, err = contents(s); err != nil {
		t.Fatal(err)
	}
	return c
}

func writeMatrix(t *testing.T, s *Store) {
	t.Helper()
	b := must.Get(s.Bulk(context.Background()))(t)
	defer b.Abort()
	m := must.Get(b.Matrix("m", []string{"a", "b"}))(t)
	for v := range NodeID(20) {
		must.Do(t, m.Put(v, []float32{float32(v), 1}))
	}
	must.Do(t, b.Commit(nil))
}

func flipByte(path string, at int64) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text[at] ^= 4
	return os.WriteFile(path, text, 0o600)
}

// fileDamages are ways to damage a file; early is the directory it is taken from as it was earlier.
func fileDamages(at int64, early string) map[string]func(path string) error {
	return map[string]func(path string) error{
		"byte changed": func(path string) error { return flipByte(path, at) },
		"cut":          func(path string) error { return os.Truncate(path, 900) },
		"cut to bytes": func(path string) error { return os.Truncate(path, 7) },
		"emptied":      func(path string) error { return os.Truncate(path, 0) },
		"missing":      os.Remove,
		"earlier": func(path string) error {
			text, err := os.ReadFile(filepath.Join(early, filepath.Base(path)))
			return errors.Join(err, os.WriteFile(path, text, 0o600))
		},
	}
}

// sameContents fails unless a store opens without a problem and holds what it should.
func sameContents(t *testing.T, name, dir string, want map[string]string) {
	t.Helper()
	s, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	got, err := contents(s)
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%s: got %d records (%v), want %d", name, len(got), err, len(want))
	}
	checkClean(t, s)
	closeStore(t, s)
}

// sameButChanges is sameContents after a loss was told of: the store has forgotten what commits touched.
func sameButChanges(t *testing.T, name, dir string, want map[string]string) {
	t.Helper()
	want = maps.Clone(want)
	got := must.Get(contentsOf(t, dir))(t)
	for _, records := range []map[string]string{got, want} {
		maps.DeleteFunc(records, func(key, _ string) bool {
			return strings.HasPrefix(key, fmt.Sprintf("%02x", byte(record.KindChanges))) || key == fmt.Sprintf("%02x",
				byte(record.KindDecided)) ||
				strings.HasPrefix(key, fmt.Sprintf("%02x", byte(record.KindCatalog)))
		})
	}
	if !maps.Equal(got, want) {
		t.Errorf("%s: got %d records, want %d", name, len(got), len(want))
	}
	checkClean(t, openStore(t, dir, Options{}))
}

// TestRepairOfAShortLog repairs a store with a log in which there is room for no commit.
func TestRepairOfAShortLog(t *testing.T) {
	t.Parallel()
	c := crashStore(t)
	for length, want := range map[int64]string{0: "at most 11 commits", 7: "an unknown number of commits"} {
		dir := copyStore(t, c.dir)
		must.Do(t, os.Truncate(onlyLog(t, dir), length))
		damagedStores.Store(dir, true)
		if lost, done := repairLosing(t, dir); !strings.Contains(done, "what can be read of it is taken") ||
			lost.String() != want {
			t.Errorf("of %d bytes: repairing did %s, and lost %v, want %s", length, done, lost, want)
		}
		checkClean(t, openStore(t, dir, Options{}))
	}
}
