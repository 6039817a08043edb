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

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/journal"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
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
	b := must.Get(s.Bulk())(t)
	defer b.Abort()
	m := must.Get(b.Matrix("m", []string{"a", "b"}, MatrixEncoding{}))(t)
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

// ofForgetting are the kinds of records that differ once Repair had the store forget what its commits touched.
var ofForgetting = []string{
	fmt.Sprintf("%02x", byte(record.KindChanges)), fmt.Sprintf("%02x", byte(record.KindCatalog)),
	fmt.Sprintf("%02x", byte(record.KindCounts)), fmt.Sprintf("%02x", byte(record.KindCommit)),
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
	got, want = maps.Clone(got), maps.Clone(want)
	for _, records := range []map[string]string{got, want} {
		maps.DeleteFunc(records, func(key, _ string) bool { return slices.Contains(ofForgetting, key[:2]) })
	}
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
		must.Do(t, damage(onlyLog(t, dir)))
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
			must.Do(t, damage(onlyJournal(t, copied)))
			for _, readOnly := range []bool{false, true} {
				if readOnly && dir == c.dir {
					continue
				}
				_, err := Open(copied, Options{MemoryBudget: minMemoryBudget, ReadOnly: readOnly})
				if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), journalName) || !strings.Contains(err.Error(), "commit") {
					t.Errorf("%s, read-only %t: got %v, want ErrCorrupt that names the journal and commits", name, readOnly, err)
				}
			}
			if done := repaired(t, copied); !slices.ContainsFunc(done, func(m Correction) bool { return strings.HasPrefix(m.Where, journalName) }) {
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
	must.Do(t, errors.Join(os.Remove(onlyJournal(t, old)), os.Rename(onlyJournal(t, s.Dir()),
		filepath.Join(old, filepath.Base(onlyJournal(t, s.Dir()))))))
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
	memTable := s.db.MemTableSize()
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
				must.Do(t, tx.Space("s").Put(fmt.Append(nil, i, j), make([]byte, MaxSpaceValue)))
			}
			return nil
		})
		look()
	}
	b := must.Get(s.Bulk())(t)
	defer b.Abort()
	w := must.Get(b.Space("much"))(t)
	for i := range 1000 {
		must.Do(t, w.Put(fmt.Appendf(nil, "%05d", i), make([]byte, MaxSpaceValue)))
		look()
	}
	must.Do(t, b.Commit(nil))
	look()
	if want := 6 * memTable; most > want {
		t.Errorf("the journal grew to %d bytes, want at most %d", most, want)
	}
	want := must.Get(contents(s))(t)
	dir := copyAtRest(t, s.Dir())
	for _, log := range fileNames(t, dir, "*.mem") {
		must.Do(t, os.Remove(filepath.Join(dir, log)))
	}
	sameContents(t, "without its logs", dir, want)
}

// TestChangedEndOfJournal changes the last frame of the journal of a store that crashed. Open names the commit; where Badger
// holds it nothing is lost, and where not Repair says so. A frame with a sector of zeros was never written to its end.
func TestChangedEndOfJournal(t *testing.T) {
	t.Parallel()
	c := crashStore(t)
	contents := must.Get(journal.Scan(c.dir, journalName, nil))(t)
	commit := fmt.Sprintf("commit %d", contents.Last())
	end := contents.Segments[len(contents.Segments)-1].End
	for _, logged := range []bool{true, false} {
		dir := copyStore(t, c.dir)
		damagedStores.Store(dir, true)
		must.Do(t, flipByte(onlyJournal(t, dir), end-3))
		if !logged {
			must.Do(t, os.Remove(onlyLog(t, dir)))
		}
		for range 2 {
			_, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), commit) || !strings.Contains(err.Error(), "may be missing") {
				t.Errorf("logged %t: got %v, want ErrCorrupt that names %s", logged, err, commit)
			}
		}
		lost, err := Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) {})
		if want := map[bool]string{true: "nothing", false: "an unknown number of commits"}[logged]; err != nil || lost.String() != want {
			t.Errorf("logged %t: lost %q (%v), want %q", logged, lost, err, want)
		}
		damagedStores.Delete(dir)
		if logged {
			sameContents(t, "logged", dir, c.want)
		}
		closeStore(t, openStore(t, dir, Options{}))
	}
	torn := copyStore(t, c.dir)
	path := onlyJournal(t, torn)
	text := must.Get(os.ReadFile(path))(t)
	text = append(text, 0x9e, 0x4a, 0x7c, 0x0d, 0, 0, 3, 0, 9)
	text = append(text, make([]byte, 1024)...)
	must.Do(t, os.WriteFile(path, text, 0o600))
	sameContents(t, "torn", torn, c.want)
}

// TestDamagedLogBesideADamagedJournal damages both: the log stays where Repair finds it, which puts its head right.
func TestDamagedLogBesideADamagedJournal(t *testing.T) {
	t.Parallel()
	c := crashStore(t)
	dir := copyStore(t, c.dir)
	damagedStores.Store(dir, true)
	log := onlyLog(t, dir)
	must.Do(t, errors.Join(flipByte(log, 0), flipByte(onlyJournal(t, dir), 1000)))
	for range 2 {
		_, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
		for _, want := range []string{filepath.Base(log), filepath.Base(onlyJournal(t, dir))} {
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want ErrCorrupt that names %s", err, want)
			}
		}
	}
	lost, err := Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) {})
	if err != nil || lost.String() != "nothing" {
		t.Errorf("lost %q (%v), want nothing", lost, err)
	}
	damagedStores.Delete(dir)
	sameContents(t, "repaired", dir, c.want)
}

// TestRepairOfAShortLog takes out a log in which there is room for no commit.
func TestRepairOfAShortLog(t *testing.T) {
	t.Parallel()
	c := crashStore(t)
	for _, length := range []int64{0, 7} {
		dir := copyStore(t, c.dir)
		must.Do(t, os.Truncate(onlyLog(t, dir), length))
		if done := fmt.Sprint(repaired(t, dir)); !strings.Contains(done, "taken out: it holds no commit") {
			t.Errorf("of %d bytes: repairing did %s", length, done)
		}
		sameContents(t, fmt.Sprint(length, " bytes"), dir, c.want)
	}
}
