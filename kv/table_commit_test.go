package kv

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
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

// layeredStore has entries of three sessions, one in each commit: early is a copy of the closed store after the
// first, crashed what a kill leaves of the third. Those of the second are in a table of their own, those of the third
// in a log.
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

// TestHalfWrittenTable has a table that a crash left unfinished: its records are in the log.
func TestHalfWrittenTable(t *testing.T) {
	t.Parallel()
	_, dir := layeredStore(t)
	tables := fileNames(t, dir, "*.sst")
	text, err := os.ReadFile(filepath.Join(dir, tables[len(tables)-1]))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "000099.sst"), text[:len(text)/2], 0o600)
	}
	must.Do(t, err)
	if got, want := fmt.Sprint(plainEntries(t, dir)), "map[0:first 1:second 2:second 3:second 4:third]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestUnexplainedLosses loses an entry, or its last value, without a trace: Repair puts it back, and says that
// something may be lost with it.
func TestUnexplainedLosses(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	decide(t, s, 0, 5)
	closeStore(t, s)
	g := record.Generation(0)
	s = openStore(t, s.Dir(), Options{ReadOnly: true})
	view(t, s, func(tx *Tx) error { g = tx.cat.Spaces["decisions"]; return nil })
	closeStore(t, s)
	key := spaceKey(g, []byte("003"))
	const records = "an unknown number of records of tables"
	for _, test := range []struct {
		what, lost string
		damage     func(s *Store) error
	}{
		{"a damaged catalogue", "an unknown number of commits", func(s *Store) error {
			writeRaw(t, s, record.PartKey(catalogKey(), 0), []byte{1, 2})
			return nil
		}},
		{"a damaged mark of decisions", "nothing", func(s *Store) error { writeRaw(t, s, decidedKey(), []byte{1, 2}); return nil }},
		{"an earlier entry", records, func(s *Store) error { writeRaw(t, s, key, record.Encode(key, []byte("earlier"))); return nil }},
		{"a damaged entry", "nothing", func(s *Store) error { writeRaw(t, s, key, []byte{1, 2}); return nil }},
	} {
		damaged := openStore(t, copyStore(t, s.Dir()), Options{})
		damagedStores.Store(damaged.Dir(), true)
		must.Do(t, test.damage(damaged))
		closeStore(t, damaged)
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
