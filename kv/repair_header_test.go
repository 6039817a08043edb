package kv

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

// TestRepairOfAMigratedStore loses the tables that Migrate wrote, so that the header of the earlier format comes to
// light.
func TestRepairOfAMigratedStore(t *testing.T) {
	t.Parallel()
	for version := 1; version < formatVersion; version++ {
		dir, id, written := migratedUnmerged(t, version)
		damagedStores.Store(dir, true)
		for _, name := range written {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		done := repaired(t, dir)
		damagedStores.Delete(dir)
		s := openStore(t, dir, Options{})
		if s.ID() != id {
			t.Errorf("of version %d: got the ID %s after %v, want %s", version, s.ID(), done, id)
		}
		view(t, s, func(tx *Tx) error {
			for _, key := range []string{"first", "second"} {
				if got, err := tx.Space(decisionsSpace).Get([]byte(key)); err != nil || string(got) != "entry" {
					t.Errorf("of version %d: got %q (%v) for %s after %v", version, got, err, key, done)
				}
			}
			return nil
		})
		checkClean(t, s)
	}
}

// migratedUnmerged is a store of an earlier version that was migrated, and written to since, with the tables that
// Migrate wrote. Badger may merge tables behind a session of the store that takes long. A store of which it did is made
// anew.
func migratedUnmerged(t *testing.T, version int) (dir, id string, written []string) {
	t.Helper()
	for {
		dir, _ = unpackKept(t, version, "plain")
		before := fileNames(t, dir, "*.sst")
		if _, _, err := Migrate(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}); err != nil {
			t.Fatal(err)
		}
		migrated := fileNames(t, dir, "*.sst")
		s := openStore(t, dir, Options{})
		id = s.ID()
		update(t, s, func(tx *Tx) error { return tx.Space(decisionsSpace).Put([]byte("second"), []byte("entry")) })
		closeStore(t, s)
		now := fileNames(t, dir, "*.sst")
		gone := func(name string) bool { return !slices.Contains(now, name) }
		if !slices.ContainsFunc(slices.Concat(before, migrated), gone) {
			return dir, id, slices.DeleteFunc(migrated, func(name string) bool { return slices.Contains(before, name) })
		}
	}
}

// TestRepairOfAnEarlierHeader gives a store the header of an earlier format.
func TestRepairOfAnEarlierHeader(t *testing.T) {
	t.Parallel()
	for version := 1; version < formatVersion; version++ {
		s := newStore(t, Options{})
		dir, id := s.Dir(), s.ID()
		addNodes(t, s, 3)
		update(t, s, func(tx *Tx) error {
			body, err := msgpack.Marshal(header{Version: version, ID: id})
			return errors.Join(err, tx.put(headerKey(), body))
		})
		closeStore(t, s)
		damagedStores.Store(dir, true)
		done := repaired(t, dir)
		damagedStores.Delete(dir)
		s = openStore(t, dir, Options{})
		if s.ID() != id {
			t.Errorf("of version %d: got the ID %s after %v, want %s", version, s.ID(), done, id)
		}
		checkClean(t, s)
	}
}

// TestRepairOfAnOldStore flips a byte of a store of an earlier format, which then cannot be migrated.
func TestRepairOfAnOldStore(t *testing.T) {
	t.Parallel()
	for version := 1; version < formatVersion; version++ {
		dir, want := unpackKept(t, version, "plain")
		opt := Options{MemoryBudget: minMemoryBudget}
		if _, err := Repair(t.Context(), dir, opt, nil, func(Correction) {}); !errors.Is(err, ErrVersion) {
			t.Errorf("of version %d and whole: got %v, want a *VersionError", version, err)
		}
		tables := fileNames(t, dir, "*.sst")
		damagedStores.Store(dir, true)
		if err := flipIndex(filepath.Join(dir, tables[len(tables)-1])); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Migrate(t.Context(), dir, opt); !errors.Is(err, ErrCorrupt) {
			t.Errorf("of version %d and damaged: migrating: got %v, want ErrCorrupt", version, err)
		}
		done := repaired(t, dir)
		damagedStores.Delete(dir)
		s := openStore(t, dir, Options{})
		if got := describeStore(t, s); got != want {
			t.Errorf("of version %d: it is another store than it was, after %v:\n%s", version, done, difference(got, want))
		}
		checkClean(t, s)
	}
}

// TestRepairWithoutHeaderAndJournal loses both.
func TestRepairWithoutHeaderAndJournal(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	dir := s.Dir()
	writeRaw(t, s, headerKey(), nil)
	damagedStores.Store(dir, true)
	closeStore(t, s)
	if err := os.Remove(onlyJournal(t, dir)); err != nil {
		t.Fatal(err)
	}
	var done []Correction
	lost, err := Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil, func(m Correction) { done = append(done, m) })
	if err != nil || lost.String() != "an unknown number of commits, 1 identity of the store" {
		t.Errorf("got %v lost (%v) after %v", lost, err, done)
	}
	damagedStores.Delete(dir)
	checkClean(t, openStore(t, dir, Options{}))
}
