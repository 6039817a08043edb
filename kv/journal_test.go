package kv

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A crashedStore is what a crash left of a store after a number of small commits, and some of its files as they were earlier.
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
	b, err := s.Bulk()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	m, err := b.Matrix("m", []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	for v := range NodeID(20) {
		if err := m.Put(v, []float32{float32(v), 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Commit(nil); err != nil {
		t.Fatal(err)
	}
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

// TestDamagedLogLosesNothing damages Badger's log of a store that crashed: the journal has every commit.
func TestDamagedLogLosesNothing(t *testing.T) {
	t.Parallel()
	c := crashStore(t)
	for name, damage := range fileDamages(c.second-20, c.early) {
		dir := copyStore(t, c.dir)
		if err := damage(onlyLog(t, dir)); err != nil {
			t.Fatal(err)
		}
		sameContents(t, name, dir, c.want)
		sameContents(t, name+", opened again", dir, c.want)
	}
}

// TestDamagedJournalIsTold damages the journal of a store that crashed, and of one that was closed: Open names it, and what is
// missing in it, and Repair brings back everything from what Badger holds.
func TestDamagedJournalIsTold(t *testing.T) {
	t.Parallel()
	c := crashStore(t)
	closed := copyStore(t, c.dir)
	sameContents(t, "closed", closed, c.want)
	for _, dir := range []string{c.dir, closed} {
		early, at := c.early, int64(1000)
		if dir == closed {
			early, at = t.TempDir(), 30
			later := openStore(t, copyStore(t, closed), Options{})
			old := filepath.Base(onlyJournal(t, closed))
			update(t, later, func(tx *Tx) error { return tx.PutDocument("later", "x", 1) })
			closeStore(t, later)
			// The journal of the store that went on is that of another time.
			now := filepath.Base(onlyJournal(t, later.Dir()))
			if err := os.Rename(onlyJournal(t, copyStore(t, later.Dir())), filepath.Join(early, old)); err != nil || now == old {
				t.Fatalf("%s is %s (%v)", now, old, err)
			}
		}
		for name, damage := range fileDamages(at, early) {
			if dir == closed && name == "cut" {
				continue // it is shorter
			}
			name = fmt.Sprintf("%s, closed %t", name, dir == closed)
			copied := copyStore(t, dir)
			damagedStores.Store(copied, true)
			if err := damage(onlyJournal(t, copied)); err != nil {
				t.Fatal(err)
			}
			for _, readOnly := range []bool{false, true} {
				if readOnly && dir == c.dir {
					continue
				}
				_, err := Open(copied, Options{MemoryBudget: minMemoryBudget, ReadOnly: readOnly})
				if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), journalName) || !strings.Contains(err.Error(), "commit") {
					t.Errorf("%s, read-only %t: got %v, want ErrCorrupt that names the journal and commits", name, readOnly, err)
				}
			}
			if done := repaired(t, copied); !slices.ContainsFunc(done, func(m Mend) bool { return strings.HasPrefix(m.Where, journalName) }) {
				t.Errorf("%s: repairing did %v, want the journal in it", name, done)
			}
			damagedStores.Delete(copied)
			sameContents(t, name, copied, c.want)
		}
	}
}

// TestLostTablesAreTold has tables, and their manifest, that are older than the journal.
func TestLostTablesAreTold(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	closeStore(t, s)
	old := copyStore(t, s.Dir())
	s = openStore(t, s.Dir(), Options{})
	for i := range 4 {
		update(t, s, func(tx *Tx) error { return tx.PutDocument("d", fmt.Sprint(i), i) })
	}
	closeStore(t, s)
	if err := errors.Join(os.Remove(onlyJournal(t, old)), os.Rename(onlyJournal(t, s.Dir()),
		filepath.Join(old, filepath.Base(onlyJournal(t, s.Dir()))))); err != nil {
		t.Fatal(err)
	}
	damagedStores.Store(s.Dir(), true)
	damagedStores.Store(old, true)
	_, err := Open(old, Options{MemoryBudget: minMemoryBudget})
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "commits 3 to 6 are missing") {
		t.Errorf("got %v, want ErrCorrupt that says which commits", err)
	}
	if done := fmt.Sprint(repaired(t, old)); !strings.Contains(done, "commits 3 to 6 are lost") {
		t.Errorf("repairing did %s, want the commits that are lost", done)
	}
	openStore(t, old, Options{})
}

// TestJournalStaysShort writes many memtables, by commits and by a Bulk: the journal does not keep what is in tables, and all
// of it is there after a crash.
func TestJournalStaysShort(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	memTable := s.db.Opts().MemTableSize
	most := int64(0)
	look := func() {
		size := int64(0)
		for _, segment := range s.journal.Segments() {
			size += segment.End
		}
		most = max(most, size)
	}
	for i := range 60 {
		update(t, s, func(tx *Tx) error {
			for j := range 15 {
				if err := tx.Space("s").Put(fmt.Append(nil, i, j), make([]byte, MaxSpaceValue)); err != nil {
					return err
				}
			}
			return nil
		})
		look()
	}
	b, err := s.Bulk()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	w, err := b.Space("much")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if err := w.Put(fmt.Appendf(nil, "%05d", i), make([]byte, MaxSpaceValue)); err != nil {
			t.Fatal(err)
		}
		look()
	}
	if err := b.Commit(nil); err != nil {
		t.Fatal(err)
	}
	look()
	if want := 6 * memTable; most > want {
		t.Errorf("the journal grew to %d bytes, want at most %d", most, want)
	}
	want, err := contents(s)
	if err != nil {
		t.Fatal(err)
	}
	dir := copyAtRest(t, s.Dir())
	for _, log := range fileNames(t, dir, "*.mem") {
		if err := os.Remove(filepath.Join(dir, log)); err != nil {
			t.Fatal(err)
		}
	}
	sameContents(t, "without its logs", dir, want)
}
