package kv

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/journal"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// putPlain commits an entry of a space that is not kept twice; nil deletes it.
func putPlain(t *testing.T, s *Store, key string, value []byte) {
	t.Helper()
	update(t, s, func(tx *Tx) error {
		if value == nil {
			return tx.Space("plain").Delete([]byte(key))
		}
		return tx.Space("plain").Put([]byte(key), value)
	})
}

// plainEntries are the entries of that space, in a store that opens and has no problem.
func plainEntries(t *testing.T, dir string) map[string]string {
	t.Helper()
	s := must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget}))(t)
	checkClean(t, s)
	entries := map[string]string{}
	view(t, s, func(tx *Tx) error {
		for e, err := range tx.Space("plain").Ascend(nil) {
			must.Do(t, err)
			entries[string(e.Key)] = string(e.Value)
		}
		return nil
	})
	closeStore(t, s)
	return entries
}

// layeredStore has entries of three sessions, one in each commit: early is a copy of the closed store after the first, crashed
// what a kill leaves of the third. Those of the second are in a table of their own, those of the third in a log.
func layeredStore(t *testing.T) (early, crashed string) {
	t.Helper()
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	putPlain(t, s, "0", []byte("first"))
	closeStore(t, s)
	early = copyStore(t, s.Dir())
	s = openStore(t, s.Dir(), Options{})
	for _, key := range []string{"1", "2", "3"} {
		putPlain(t, s, key, []byte("second"))
	}
	closeStore(t, s)
	s = openStore(t, s.Dir(), Options{})
	putPlain(t, s, "4", []byte("third"))
	return early, copyStore(t, s.Dir())
}

// cutManifest takes the last change of a manifest away, and returns the newest table.
func cutManifest(t *testing.T, dir string) (newest string) {
	t.Helper()
	tables := fileNames(t, dir, "*.sst")
	path := filepath.Join(dir, "MANIFEST")
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()-1)
	}
	must.Do(t, err)
	return filepath.Join(dir, tables[len(tables)-1])
}

// TestLostTableBelowTheLog loses the commits of a session, and the log has later ones: opening names those that are missing,
// and changes no file; Repair says that they are lost.
func TestLostTableBelowTheLog(t *testing.T) {
	t.Parallel()
	early, crashed := layeredStore(t)
	const missing = "commits 4 to 6 are"
	for name, damage := range map[string]func(dir string) error{
		"newest table and the manifest's end": func(dir string) error { return os.Remove(cutManifest(t, dir)) },
		"earlier tables and manifest": func(dir string) error {
			replaceFiles(t, "*.sst", early, dir)
			replaceFiles(t, "MANIFEST", early, dir)
			return nil
		},
		"newest table overwritten": func(dir string) error {
			path := cutManifest(t, dir)
			info, err := os.Stat(path)
			return errors.Join(err, os.WriteFile(path, make([]byte, info.Size()), 0o600))
		},
		"newest table removed, and the journal damaged": func(dir string) error {
			return errors.Join(os.Remove(cutManifest(t, dir)), flipByte(onlyJournal(t, dir), 100))
		},
	} {
		dir := copyStore(t, crashed)
		damagedStores.Store(dir, true)
		must.Do(t, damage(dir))
		before := bytesOf(t, dir)
		_, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), missing+" missing") {
			t.Fatalf("%s: opening: got %v, want ErrCorrupt: %s missing", name, err, missing)
		}
		if !maps.Equal(bytesOf(t, dir), before) {
			t.Fatalf("%s: opening, which failed with %v, changed files", name, err)
		}
		var done []Correction
		_, err = Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil, func(m Correction) { done = append(done, m) })
		if err != nil || !strings.Contains(fmt.Sprint(done), missing+" lost") {
			t.Errorf("%s: repairing did %v (%v), want: %s lost", name, done, err, missing)
		}
		damagedStores.Delete(dir)
		if got := fmt.Sprint(plainEntries(t, dir)); got != "map[0:first 4:third]" {
			t.Errorf("%s: got %s after %v, want what is left", name, got, done)
		}
	}
}

// TestDamagedUnnamedTable has a byte changed in the index of a table that the end of the manifest names, and that end cut off: opening
// leaves both where Repair finds them, which loses nothing. A table that the store can do without is set aside.
func TestDamagedUnnamedTable(t *testing.T) {
	t.Parallel()
	_, crashed := layeredStore(t)
	const want = "map[0:first 1:second 2:second 3:second 4:third]"
	dir := copyStore(t, crashed)
	damagedStores.Store(dir, true)
	newest := cutManifest(t, dir)
	must.Do(t, flipIndex(newest))
	before := bytesOf(t, dir)
	_, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(newest)) {
		t.Errorf("opening: got %v, want ErrCorrupt that names %s", err, newest)
	}
	if !maps.Equal(bytesOf(t, dir), before) {
		t.Errorf("opening, which failed with %v, changed files", err)
	}
	lost, err := Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) {})
	if err != nil || len(lost) > 0 {
		t.Errorf("repairing lost %v (%v), want nothing", lost, err)
	}
	damagedStores.Delete(dir)
	if got := fmt.Sprint(plainEntries(t, dir)); got != want {
		t.Errorf("got %s after the repair, want %s", got, want)
	}

	half := copyStore(t, crashed)
	text, err := os.ReadFile(filepath.Join(half, filepath.Base(newest)))
	if err == nil {
		err = os.WriteFile(filepath.Join(half, "000099.sst"), text[:len(text)/2], 0o600)
	}
	must.Do(t, err)
	if got := fmt.Sprint(plainEntries(t, half)); got != want {
		t.Errorf("got %s beside a half-written table, want %s", got, want)
	}
}

// TestRepairKeepsLaterValues damages the journal of a store that crashed where it has the later value of a key, or puts files
// of an earlier journal beside it: what Badger holds stays as it is.
func TestRepairKeepsLaterValues(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	closeStore(t, s)
	s = openStore(t, s.Dir(), Options{})
	putPlain(t, s, "changed", []byte("first"))
	putPlain(t, s, "deleted", []byte("first"))
	early := copyStore(t, s.Dir())
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.Space("plain").Put([]byte("changed"), []byte("second")), tx.Space("plain").Delete([]byte("deleted")),
			tx.AddColumn("column", KindInt), tx.Space("another").Put([]byte("k"), []byte("v")))
	})
	putPlain(t, s, "last", []byte("x"))
	crashed := copyStore(t, s.Dir())
	want := must.Get(contents(s))(t)
	closeStore(t, s)
	s = openStore(t, s.Dir(), Options{})
	putPlain(t, s, "third", []byte("session"))
	later := copyStore(t, s.Dir())
	wantLater := must.Get(contents(s))(t)
	flipSecond := func(dir string) error {
		text, err := os.ReadFile(onlyJournal(t, dir))
		return errors.Join(err, flipByte(onlyJournal(t, dir), int64(bytes.Index(text, []byte("second")))))
	}
	for _, test := range []struct {
		name, dir, lost string
		damage          func(dir string) error
		want            map[string]string
	}{
		{"a byte changed", crashed, "nothing", flipSecond, want},
		{"an earlier journal beside it", later, "nothing", func(dir string) error {
			text, err := os.ReadFile(onlyJournal(t, early))
			return errors.Join(err, os.WriteFile(filepath.Join(dir, filepath.Base(onlyJournal(t, early))), text, 0o600))
		}, wantLater},
		{"a byte changed, and no log", crashed, "1 commit", func(dir string) error {
			return errors.Join(flipSecond(dir), os.Remove(onlyLog(t, dir)))
		}, nil},
	} {
		dir := copyStore(t, test.dir)
		damagedStores.Store(dir, true)
		must.Do(t, test.damage(dir))
		var done []Correction
		lost, err := Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil, func(m Correction) { done = append(done, m) })
		if err != nil || lost.String() != test.lost || len(done) == 0 {
			t.Errorf("%s: lost %q (%v) after %v, want %q", test.name, lost, err, done, test.lost)
		}
		damagedStores.Delete(dir)
		if test.want != nil {
			sameContents(t, test.name, dir, test.want)
		} else if got := plainEntries(t, dir); got["changed"] != "first" || got["last"] != "x" {
			t.Errorf("%s: got %v, want what the journal has", test.name, got)
		}
	}
}

// TestLostCommits has a journal with gaps beside logs with gaps: a commit is lost that both miss, and one that only a log of a
// crash before the last may have had is said to be in doubt.
func TestLostCommits(t *testing.T) {
	t.Parallel()
	h := heldCommits{whole: true, tables: 4, logs: []uint64{6, 7, 9}}
	contents := &journal.Contents{
		Segments: []journal.Segment{{Base: 3, Last: 13}},
		Damage:   []journal.Damage{{First: 4, Last: 8}, {First: 11, Last: 10}, {First: 12, Last: 12}},
	}
	what, lost, err := h.lostCommits(contents, 9)
	const want = "; whether commit 5 is lost is not known, whether commit 8 is lost is not known, a part of commit 11 may be lost, commit 12 is lost"
	if err != nil || what != want || lost.String() != "at most 4 commits" {
		t.Errorf("got %q, %v (%v), want %q", what, lost, err, want)
	}
}

// TestLostCatalogueIsALoss has an earlier catalogue, which does not name a space, and loses an entry, or its last value, without
// a trace: Repair names the space again, and puts the entry back, and says that something may be lost with them.
func TestLostCatalogueIsALoss(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	earlier := map[string][]byte{}
	for _, key := range [][]byte{record.PartKey(catalogKey(), 0), countsKey()} {
		earlier[string(key)] = rawValue(t, s, key)
	}
	decisionSession(t, s, 0, 5)
	closeStore(t, s)
	g := record.Generation(0)
	s = openStore(t, s.Dir(), Options{ReadOnly: true})
	view(t, s, func(tx *Tx) error { g = tx.cat.Spaces["decisions"]; return nil })
	closeStore(t, s)
	key := spaceKey(g, []byte("003"))
	const records = "an unknown number of records of tables"
	const gone = "an entry gone" // once tables are merged, which leaves its deletion out
	for _, test := range []struct {
		what, lost string
		damage     func(s *Store) error
	}{
		{"an earlier catalogue", "an unknown number of commits", func(s *Store) error {
			for key, value := range earlier {
				writeRaw(t, s, []byte(key), value)
			}
			return nil
		}},
		{gone, records, func(s *Store) error { writeRaw(t, s, key, nil); return nil }},
		{"an earlier entry", records, func(s *Store) error { writeRaw(t, s, key, record.Encode(key, []byte("earlier"))); return nil }},
		{"a damaged entry", "nothing", func(s *Store) error { writeRaw(t, s, key, []byte{1, 2}); return nil }},
	} {
		damaged := openStore(t, copyStore(t, s.Dir()), Options{})
		damagedStores.Store(damaged.Dir(), true)
		must.Do(t, test.damage(damaged))
		closeStore(t, damaged)
		if test.what == gone {
			damaged = openStore(t, damaged.Dir(), Options{})
			must.Do(t, damaged.db.Badger().Flatten(1))
			closeStore(t, damaged)
		}
		var done []Correction
		lost, err := Repair(t.Context(), damaged.Dir(), Options{MemoryBudget: minMemoryBudget}, nil, func(m Correction) { done = append(done, m) })
		if err != nil || lost.String() != test.lost {
			t.Errorf("%s: lost %q (%v) after %v, want %q", test.what, lost, err, done, test.lost)
		}
		damagedStores.Delete(damaged.Dir())
		if got := decided(t, damaged.Dir(), 0, 5); got != 5 {
			t.Errorf("%s: got %d decisions after %v, want 5", test.what, got, done)
		}
	}
}
