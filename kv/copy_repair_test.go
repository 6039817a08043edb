package kv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// decided returns how many of the first decisions of a store that opens and has no problem are as decisionSession put them.
func decided(t *testing.T, dir string, first, end int) (n int) {
	t.Helper()
	s := must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget}))(t)
	view(t, s, func(tx *Tx) error {
		for i := first; i < end; i++ {
			value, err := tx.Space("decisions").Get(fmt.Appendf(nil, "%03d", i))
			n += codec.Bit(err == nil && string(value) == fmt.Sprint("decision ", i))
		}
		return nil
	})
	checkClean(t, s)
	closeStore(t, s)
	return n
}

// decisionSession puts decisions into a store that is open.
func decisionSession(t *testing.T, s *Store, first, end int) {
	t.Helper()
	for i := first; i < end; i++ {
		update(t, s, func(tx *Tx) error {
			space := tx.Space("decisions")
			return errors.Join(space.KeepTwice(), space.Put(fmt.Appendf(nil, "%03d", i), fmt.Append(nil, "decision ", i)))
		})
	}
}

// agedStore has decisions of three sessions: old is a copy of the closed store after the first, later after the second, and
// crashed is what a kill leaves of the third.
func agedStore(t *testing.T) (old, later, crashed string) {
	t.Helper()
	s := newStore(t, Options{})
	addNodes(t, s, 5)
	decisionSession(t, s, 0, 10)
	closeStore(t, s)
	old = copyStore(t, s.Dir())
	s = openStore(t, s.Dir(), Options{})
	decisionSession(t, s, 10, 20)
	closeStore(t, s)
	later = copyStore(t, s.Dir())
	s = openStore(t, s.Dir(), Options{})
	decisionSession(t, s, 20, 25)
	return old, later, copyStore(t, s.Dir())
}

// replaceFiles puts the files of a pattern that one directory has in the place of those of another.
func replaceFiles(t *testing.T, pattern, from, to string) {
	t.Helper()
	for _, name := range fileNames(t, to, pattern) {
		must.Do(t, os.Remove(filepath.Join(to, name)))
	}
	if from == "" {
		return
	}
	for _, name := range fileNames(t, from, pattern) {
		text, err := os.ReadFile(filepath.Join(from, name))
		must.Do(t, errors.Join(err, os.WriteFile(filepath.Join(to, name), text, 0o600)))
	}
}

// TestSoundCopyIsUsed loses tables or the journal, or both, beside a whole second copy of another commit: Repair puts back
// every entry that the copy has.
func TestSoundCopyIsUsed(t *testing.T) {
	t.Parallel()
	old, _, crashed := agedStore(t)
	for name, test := range map[string]struct {
		make func(dir string)
		want int // decisions
	}{
		"old tables, journal and copy of a crash": {func(dir string) {
			for _, pattern := range []string{"*.sst", "*.mem", "MANIFEST"} {
				replaceFiles(t, pattern, old, dir)
			}
		}, 25},
		"old tables, no journal": {func(dir string) {
			for _, pattern := range []string{"*.sst", "*.mem", "MANIFEST"} {
				replaceFiles(t, pattern, old, dir)
			}
			replaceFiles(t, journalName+"-*.log", "", dir)
		}, 20},
		"old store, later copy": {func(dir string) {
			for _, pattern := range []string{"*.sst", "*.mem", "MANIFEST", journalName + "-*.log"} {
				replaceFiles(t, pattern, old, dir)
			}
		}, 20},
		"a table and the journal gone": {func(dir string) {
			replaceFiles(t, journalName+"-*.log", "", dir)
			found := false
			for _, table := range fileNames(t, dir, "*.sst") {
				text := must.Get(os.ReadFile(filepath.Join(dir, table)))(t)
				if strings.Contains(string(text), "decision 12") {
					found = true
					must.Do(t, os.Remove(filepath.Join(dir, table)))
				}
			}
			if !found {
				t.Error("no table has the decision 12")
			}
		}, 25},
		"journal damaged": {func(dir string) {
			must.Do(t, flipByte(onlyJournal(t, dir), 300))
		}, 25},
	} {
		dir := copyStore(t, crashed)
		damagedStores.Store(dir, true)
		test.make(dir)
		if strings.HasPrefix(name, "old") {
			_, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "commit") {
				t.Errorf("%s: opening: got %v, want ErrCorrupt that names commits", name, err)
			}
		}
		var done []Correction
		lost, err := Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil, func(m Correction) { done = append(done, m) })
		if err != nil {
			t.Fatalf("%s: repairing: %v, after %v", name, err, done)
		}
		if strings.Contains(fmt.Sprint(done), "earlier copy") {
			t.Errorf("%s: repairing did %v, want no word of an earlier copy", name, done)
		}
		if strings.HasPrefix(name, "old") && !strings.Contains(lost.String(), "commit") {
			t.Errorf("%s: got %v lost, want commits", name, lost)
		}
		damagedStores.Delete(dir)
		if got := decided(t, dir, 0, 25); got != test.want {
			t.Errorf("%s: got %d decisions after %v, want %d", name, got, done, test.want)
		}
	}
}

// TestEarlierCopyIsUsed damages an entry beside a whole copy that is too old: it is put back, and an entry that was changed
// later than the copy stays.
func TestEarlierCopyIsUsed(t *testing.T) {
	t.Parallel()
	old, later, _ := agedStore(t)
	s := must.Get(Open(later, Options{MemoryBudget: minMemoryBudget}))(t)
	g := record.Generation(0)
	view(t, s, func(tx *Tx) error { g = tx.cat.Spaces["decisions"]; return nil })
	damagedStores.Store(later, true)
	for i, value := range map[int][]byte{3: {1, 2}, 4: record.Encode(spaceKey(g, []byte("004")), []byte("newer"))} {
		writeRaw(t, s, spaceKey(g, fmt.Appendf(nil, "%03d", i)), value)
	}
	closeStore(t, s)
	replaceFiles(t, copyName+"-*.log", old, later)
	done := repaired(t, later)
	damagedStores.Delete(later)
	if got := decided(t, later, 0, 20); got != 19 {
		t.Errorf("got %d decisions after %v, want all but the newer one", got, done)
	}
	s = openStore(t, later, Options{})
	view(t, s, func(tx *Tx) error {
		if value, err := tx.Space("decisions").Get([]byte("004")); err != nil || string(value) != "newer" {
			t.Errorf("got %q (%v) after %v, want what is later than the copy", value, err, done)
		}
		return nil
	})
}

// TestLaterCopyIsToldAtOpen has a second copy that is of a later commit than the store.
func TestLaterCopyIsToldAtOpen(t *testing.T) {
	t.Parallel()
	old, later, _ := agedStore(t)
	replaceFiles(t, copyName+"-*.log", later, old)
	damagedStores.Store(old, true)
	for _, readOnly := range []bool{false, true} {
		_, err := Open(old, Options{MemoryBudget: minMemoryBudget, ReadOnly: readOnly})
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), copyName+"-0") || !strings.Contains(err.Error(), "commits 13 to 22 are missing") {
			t.Errorf("read-only %t: got %v, want ErrCorrupt that names the copy and the commits", readOnly, err)
		}
	}
	lost, err := Repair(t.Context(), old, Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) {})
	if err != nil || lost.String() != "at most 10 commits" {
		t.Errorf("repairing: got %v lost (%v), want at most 10 commits", lost, err)
	}
	damagedStores.Delete(old)
	if got := decided(t, old, 0, 20); got != 20 {
		t.Errorf("got %d decisions, want 20", got)
	}
}

// TestCopyOfAnotherStore has the second copy of another store, which has come to as many commits: it is told, and not used.
func TestCopyOfAnotherStore(t *testing.T) {
	t.Parallel()
	_, dir, _ := agedStore(t)
	_, other, _ := agedStore(t)
	replaceFiles(t, copyName+"-*.log", other, dir)
	damagedStores.Store(dir, true)
	if _, err := Open(dir, Options{MemoryBudget: minMemoryBudget}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "copy of the store") {
		t.Errorf("got %v, want ErrCorrupt that tells of another store", err)
	}
	done := fmt.Sprint(repaired(t, dir))
	if !strings.Contains(done, "copy of the store") || strings.Contains(done, "put back") {
		t.Errorf("repairing did %s, want the copy of another store, of which nothing is put back", done)
	}
	damagedStores.Delete(dir)
	if got := decided(t, dir, 0, 20); got != 20 {
		t.Errorf("got %d decisions, want 20", got)
	}
}

// TestCopyOfAFork has the second copy of a store that was copied and went on in another way, by as many commits: the report says
// that whole entries were replaced.
func TestCopyOfAFork(t *testing.T) {
	t.Parallel()
	dir, _, _ := agedStore(t)
	fork := copyStore(t, dir)
	for i, dir := range []string{dir, fork} {
		s := openStore(t, dir, Options{})
		for k := range 3 {
			update(t, s, func(tx *Tx) error {
				return tx.Space("decisions").Put(fmt.Append(nil, "since ", k+i), fmt.Append(nil, "of ", i))
			})
		}
		closeStore(t, s)
	}
	damagedStores.Store(dir, true)
	replaceFiles(t, copyName+"-*.log", fork, dir)
	done := fmt.Sprint(repaired(t, dir))
	damagedStores.Delete(dir)
	for _, want := range []string{"1 of its entries are missing or damaged", "2 of its entries are whole, and other than in its second copy"} {
		if !strings.Contains(done, want) {
			t.Errorf("repairing did %s, want %s", done, want)
		}
	}
}

// TestUnknownCommitsAreLost has journals of which nobody knows where they ended.
func TestUnknownCommitsAreLost(t *testing.T) {
	t.Parallel()
	_, closed, crashed := agedStore(t)
	for name, test := range map[string]struct {
		from   string
		damage func(dir string) error
		want   string
	}{
		"no journal, no log": {crashed, func(dir string) error {
			return errors.Join(os.Remove(onlyJournal(t, dir)), os.Remove(onlyLog(t, dir)))
		}, "an unknown number of commits"},
		"no journal": {crashed, func(dir string) error { return os.Remove(onlyJournal(t, dir)) }, "an unknown number of commits"},
		"journal and log cut": {crashed, func(dir string) error {
			return errors.Join(os.Truncate(onlyJournal(t, dir), 20), os.Remove(onlyLog(t, dir)))
		}, "an unknown number of commits"},
		"end of the journal overwritten": {crashed, func(dir string) error {
			text, err := os.ReadFile(onlyJournal(t, dir))
			clear(text[10:])
			return errors.Join(err, os.WriteFile(onlyJournal(t, dir), text, 0o600))
		}, "an unknown number of commits"},
		"journal cut, log whole": {crashed, func(dir string) error {
			return os.Truncate(onlyJournal(t, dir), 400)
		}, "an unknown number of commits"},
		"byte of a frame": {crashed, func(dir string) error { return flipByte(onlyJournal(t, dir), 300) }, "nothing"},
		"byte of a head":  {crashed, func(dir string) error { return flipByte(onlyJournal(t, dir), 30) }, "nothing"},
		"byte of a head, closed": {closed, func(dir string) error {
			return flipByte(onlyJournal(t, dir), 30)
		}, "nothing"},
		"no journal, closed": {closed, func(dir string) error { return os.Remove(onlyJournal(t, dir)) }, "an unknown number of commits"},
	} {
		dir := copyStore(t, test.from)
		damagedStores.Store(dir, true)
		must.Do(t, test.damage(dir))
		lost, err := Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) {})
		if err != nil || lost.String() != test.want {
			t.Errorf("%s: got %v lost (%v), want %s", name, lost, err, test.want)
		}
	}
}
