package kv

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// decidedStore is a closed store with a space of entries that is kept twice, and its contents; all but the last three entries
// are in one table, and the copy.
func decidedStore(t *testing.T) (dir string, want map[string]string) {
	t.Helper()
	s := newStore(t, Options{})
	addNodes(t, s, 5)
	decide := func(s *Store, first, end int) {
		for i := first; i < end; i++ {
			update(t, s, func(tx *Tx) error {
				space := tx.Space("decisions")
				return errors.Join(space.KeepTwice(), space.Put(fmt.Appendf(nil, "%03d", i), fmt.Append(nil, "decision ", i)),
					space.Put(fmt.Appendf(nil, "by node %d", i%5), fmt.Append(nil, i)), space.Delete(fmt.Appendf(nil, "by node %d", (i+1)%5)))
			})
		}
	}
	decide(s, 0, 20)
	closeStore(t, s)
	s = openStore(t, s.Dir(), Options{})
	decide(s, 20, 23)
	closeStore(t, s)
	s = openStore(t, s.Dir(), Options{ReadOnly: true})
	want = must.Get(contents(s))(t)
	checkClean(t, s)
	closeStore(t, s)
	return s.Dir(), want
}

func onlyCopy(t *testing.T, dir string) string {
	t.Helper()
	files := fileNames(t, dir, copyName+"-*.log")
	if len(files) != 1 {
		t.Fatalf("got a copy of %v, want one file", files)
	}
	return filepath.Join(dir, files[0])
}

// TestLostEntriesAreBroughtBack deletes and damages entries of a space that is kept twice: Check finds each, and Repair
// puts it back.
func TestLostEntriesAreBroughtBack(t *testing.T) {
	t.Parallel()
	dir, want := decidedStore(t)
	for _, how := range []string{"deleted", "flipped", "other"} {
		copied := copyStore(t, dir)
		damagedStores.Store(copied, true)
		s, err := Open(copied, Options{MemoryBudget: minMemoryBudget})
		must.Do(t, err)
		g := record.Generation(0)
		view(t, s, func(tx *Tx) error { g = tx.cat.Spaces["decisions"]; return nil })
		for _, i := range []int{0, 7, 22} {
			key := spaceKey(g, fmt.Appendf(nil, "%03d", i))
			value := rawValue(t, s, key)
			switch how {
			case "deleted":
				value = nil
			case "flipped":
				value[len(value)-1] ^= 1
			case "other":
				value = record.Encode(key, []byte("another"))
			}
			writeRaw(t, s, key, value)
		}
		problems := 0
		err = s.Check(t.Context(), nil, func(p Problem) { problems += codec.Bit(strings.HasPrefix(p.Where, "space decisions")) })
		if err != nil || problems != 3 {
			t.Errorf("%s: Check finds %d entries (%v), want 3", how, problems, err)
		}
		closeStore(t, s)
		told := "3 of its entries are missing or damaged"
		if how == "other" {
			told = "3 of its entries are whole, and other than in its second copy"
		}
		if done := fmt.Sprint(repaired(t, copied)); !strings.Contains(done, told) {
			t.Errorf("%s: repairing did %s, want 3 entries put back", how, done)
		}
		damagedStores.Delete(copied)
		sameContents(t, how, copied, want)
	}
}

// TestDamagedCopyIsTold damages the copy of a closed store: opening it for writing and Check find it, what is in the store can be
// read, and Repair makes the copy again.
func TestDamagedCopyIsTold(t *testing.T) {
	t.Parallel()
	dir, want := decidedStore(t)
	earlier := t.TempDir()
	s := openStore(t, copyStore(t, dir), Options{})
	update(t, s, func(tx *Tx) error { return tx.Space("decisions").Put([]byte("after"), []byte("x")) })
	closeStore(t, s)
	later := s.Dir()
	must.Do(t, os.Rename(onlyCopy(t, copyStore(t, dir)), filepath.Join(earlier, filepath.Base(onlyCopy(t, later)))))
	for name, damage := range fileDamages(700, earlier) {
		from, want := dir, maps.Clone(want)
		if name == "earlier" {
			from = later
			s := openStore(t, later, Options{ReadOnly: true})
			var err error
			if want, err = contents(s); err != nil {
				t.Fatal(err)
			}
			closeStore(t, s)
		}
		copied := copyStore(t, from)
		damagedStores.Store(copied, true)
		must.Do(t, damage(onlyCopy(t, copied)))
		if s, err := Open(copied, Options{MemoryBudget: minMemoryBudget}); !errors.Is(err, ErrCorrupt) ||
			!strings.Contains(err.Error(), copyName) || !strings.Contains(err.Error(), "until a repair of the second copy") {
			t.Errorf("%s: open: got %v, %v, want ErrCorrupt that names the copy", name, s, err)
		}
		s, err := Open(copied, Options{MemoryBudget: minMemoryBudget, ReadOnly: true})
		if err != nil {
			t.Fatalf("%s: open to read: %v", name, err)
		}
		found := 0
		if err := s.Check(t.Context(), nil, func(p Problem) { found += codec.Bit(strings.Contains(p.String(), copyName)) }); err != nil || found == 0 {
			t.Errorf("%s: Check finds nothing (%v)", name, err)
		}
		closeStore(t, s)
		if done := fmt.Sprint(repaired(t, copied)); !strings.Contains(done, copyName) {
			t.Errorf("%s: repairing did %s, want the copy rebuilt", name, done)
		}
		damagedStores.Delete(copied)
		if s, err = Open(copied, Options{MemoryBudget: minMemoryBudget}); err != nil {
			t.Fatal(err)
		}
		got, err := contents(s)
		delete(got, fmt.Sprintf("%02x", byte(record.KindCommit)))
		delete(want, fmt.Sprintf("%02x", byte(record.KindCommit)))
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: got %d records (%v), want %d", name, len(got), err, len(want))
		}
		checkClean(t, s)
		closeStore(t, s)
	}
}

// TestCopyDamagedBelowAWriter damages the copy of a store that is open: the writer is refused before the journal, of which
// nothing can be removed, has grown beyond its bound. What was committed is there after a repair.
func TestCopyDamagedBelowAWriter(t *testing.T) {
	t.Parallel()
	dir, _ := decidedStore(t)
	damagedStores.Store(dir, true)
	s, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
	must.Do(t, err)
	must.Do(t, inFile(filepath.Base(onlyCopy(t, dir)), func(text []byte) []byte { text[60] ^= 1; return text })(dir))
	committed, size := 0, int64(0)
	for ; err == nil && size <= 6*s.db.MemTableSize(); committed++ {
		err = s.Update(func(tx *Tx) error {
			for i := range 15 {
				if err := tx.Space("decisions").Put(fmt.Append(nil, committed, i), make([]byte, MaxSpaceValue)); err != nil {
					return err
				}
			}
			return nil
		})
		size = 0
		for _, segment := range s.journal.Segments() {
			size += segment.End
		}
	}
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), copyName) {
		t.Errorf("with a journal of %d bytes: got %v, want ErrCorrupt that names the copy", size, err)
	}
	if err := s.Close(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("close: got %v, want ErrCorrupt", err)
	}
	repaired(t, dir)
	damagedStores.Delete(dir)
	s = openStore(t, dir, Options{})
	view(t, s, func(tx *Tx) error {
		for i := range committed - 1 {
			if _, err := tx.Space("decisions").Get(fmt.Append(nil, i, 14)); err != nil {
				t.Errorf("commit %d: %v", i, err)
			}
		}
		return nil
	})
}

// TestCopyFollowsBulks rewrites a space that is kept twice, drops it, and marks one that is there already; what is restored of
// a backup has a copy too.
func TestCopyFollowsBulks(t *testing.T) {
	t.Parallel()
	dir, _ := decidedStore(t)
	s := openStore(t, copyStore(t, dir), Options{})
	b := must.Get(s.Bulk())(t)
	defer b.Abort()
	w := must.Get(b.Space("decisions"))(t)
	for i := range 10 {
		must.Do(t, w.Put(fmt.Append(nil, i), []byte("new")))
	}
	must.Do(t, b.Commit(nil))
	entries := func(s *Store) string {
		t.Helper()
		got := map[string]string{}
		must.Do(t, s.lastView(func(tx *Tx) error {
			c, err := s.readCopy(true)
			if err != nil {
				return err
			}
			put := func(name string, key, body []byte) error {
				if got[name+" "+string(key)] = string(body); body == nil {
					delete(got, name+" "+string(key))
				}
				return nil
			}
			return errors.Join(c.each(s.Dir(), put), eachCopied(s.Dir(), tx.cat, c.commit, s.commits, put))
		}))
		return fmt.Sprint(got)
	}
	want := map[string]string{}
	for i := range 10 {
		want["decisions "+fmt.Sprint(i)] = "new"
	}
	if got := entries(s); got != fmt.Sprint(want) {
		t.Errorf("after a Bulk: got %s, want %v", got, want)
	}
	checkClean(t, s)
	update(t, s, func(tx *Tx) error { return tx.Space("other").Put([]byte("k"), []byte("v")) })
	closeStore(t, s)
	s = openStore(t, s.Dir(), Options{})
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.Space("other").KeepTwice(), tx.Space("decisions").Delete([]byte("3")))
	})
	closeStore(t, s)
	delete(want, "decisions 3")
	want["other k"] = "v"
	s = openStore(t, s.Dir(), Options{})
	if got := entries(s); got != fmt.Sprint(want) {
		t.Errorf("of two spaces: got %s, want %v", got, want)
	}
	file, _ := backupOf(t, s, nil)
	restored := restoreAll(t, file)
	if got := entries(restored); got != fmt.Sprint(want) {
		t.Errorf("restored: got %s, want %v", got, want)
	}
	checkClean(t, restored)
	update(t, s, func(tx *Tx) error { return tx.DropSpace("decisions") })
	closeStore(t, s)
	s = openStore(t, s.Dir(), Options{})
	if got := entries(s); got != "map[other k:v]" {
		t.Errorf("after dropping a space: got %s", got)
	}
	checkClean(t, s)
}

// TestLostTableOfDecisions takes out the table that has most decisions, as a fault of the disk may: Repair brings all back.
func TestLostTableOfDecisions(t *testing.T) {
	t.Parallel()
	dir, want := decidedStore(t)
	damagedStores.Store(dir, true)
	tables := fileNames(t, dir, "*.sst")
	found := false
	for _, table := range tables {
		copied := copyStore(t, dir)
		text := must.Get(os.ReadFile(filepath.Join(copied, table)))(t)
		from := strings.Index(string(text), "decision 3")
		if from < 0 {
			continue
		}
		found = true
		copy(text[from-40:], make([]byte, 80))
		must.Do(t, os.WriteFile(filepath.Join(copied, table), text, 0o600))
		done := repaired(t, copied)
		s, err := Open(copied, Options{MemoryBudget: minMemoryBudget})
		if err != nil {
			t.Fatalf("after %v: %v", done, err)
		}
		lost := 0
		view(t, s, func(tx *Tx) error {
			for i := range 23 {
				value, err := tx.Space("decisions").Get(fmt.Appendf(nil, "%03d", i))
				lost += codec.Bit(err != nil || string(value) != fmt.Sprint("decision ", i))
			}
			return nil
		})
		if lost > 0 {
			t.Errorf("%d of 23 decisions are lost after %v", lost, done)
		}
		checkClean(t, s)
		closeStore(t, s)
	}
	if !found || len(want) == 0 {
		t.Errorf("no table of %v has the decisions", tables)
	}
}
