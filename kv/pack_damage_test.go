package kv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
)

// putMany writes a space of a thousand entries in a Bulk, with the final function of its Commit.
func putMany(t *testing.T, s *Store, final func(tx *Tx) error) {
	t.Helper()
	b := beginBulk(t, s)
	defer b.Abort()
	put := must.Get(b.Space("many"))(t)
	for i := range 1000 {
		must.Do(t, put(fmt.Appendf(nil, "%04d", i), []byte("value")))
	}
	must.Do(t, b.Commit(final))
}

// TestFoldKeepsDeletionsBesideDamage deletes an entry of a pack, all blocks of which are damaged then. A fold cannot
// see there whether the deletion is of use: it keeps it, and does not fail.
func TestFoldKeepsDeletionsBesideDamage(t *testing.T) {
	s := newStore(t, Options{})
	putMany(t, s, nil)
	update(t, s, func(tx *Tx) error { return tx.Space("many").Delete([]byte("0500")) })
	closeStore(t, s)
	damagedStores.Store(s.Dir(), true)
	path := filepath.Join(s.Dir(), fileNames(t, s.Dir(), "2*.sst")[0])
	sound, text := must.Get(os.ReadFile(path))(t), must.Get(os.ReadFile(path))(t)
	r := must.Get(pack.Open(path))(t)
	for i := range r.Blocks() - 1 { // Open compares the last
		from, _, err := r.Place(i)
		must.Do(t, err)
		text[from+3] ^= 0x80 // of the length of a key
	}
	must.Do(t, r.Close())
	write := func(text []byte) { // into the same file, which stays the one that was listed
		info := must.Get(os.Stat(path))(t)
		must.Do(t, os.WriteFile(path, text, 0o600))
		must.Do(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	}
	write(text)
	s = openStore(t, s.Dir(), Options{})
	must.Do(t, s.Compact(t.Context(), nil))
	closeStore(t, s)
	write(sound)
	view(t, openStore(t, s.Dir(), Options{}), func(tx *Tx) error {
		if value, err := tx.Space("many").Get([]byte("0500")); !errors.Is(err, ErrNotFound) {
			t.Errorf("the deleted entry: got %q, %v, want ErrNotFound", value, err)
		}
		return nil
	})
}

// TestPacksAreListedBeforeTheirCommit has a crash come between the commit of a Bulk and the writing of the catalogue's
// copy. A pack of the Bulk that is damaged or missing then is not taken for one of no use.
func TestPacksAreListedBeforeTheirCommit(t *testing.T) {
	s := newStore(t, Options{})
	var listed []byte
	putMany(t, s, func(*Tx) (err error) {
		listed, err = os.ReadFile(filepath.Join(s.Dir(), "catalog"))
		return err
	})
	for how, damage := range map[string]func(path string) error{
		"missing": os.Remove,
		"cut":     func(path string) error { return cutBy(path, 10) },
	} {
		dir := copyStore(t, s.Dir())
		must.Do(t, os.WriteFile(filepath.Join(dir, "catalog"), listed, 0o600))
		torn := filepath.Join(dir, "2000000099.pack") // of a Bulk that the crash ended
		must.Do(t, os.WriteFile(torn, nil, 0o600))
		checkClean(t, openStore(t, copyStore(t, dir), Options{}))
		must.Do(t, os.Remove(torn))
		damagedStores.Store(dir, true)
		must.Do(t, damage(filepath.Join(dir, fileNames(t, dir, "*.pack")[0])))
		if _, err := Open(dir, Options{MemoryBudget: minMemoryBudget}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: opening it: got %v, want ErrCorrupt", how, err)
		}
		if lost, _ := repairLosing(t, dir); len(lost) == 0 {
			t.Errorf("%s: the repair lost nothing", how)
		}
	}
}

// TestBulkEndsWithItsContext ends the context of a Bulk before its rows are sorted.
func TestBulkEndsWithItsContext(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 5)
	ctx, cancel := context.WithCancel(t.Context())
	b := must.Get(s.Bulk(ctx))(t)
	defer b.Abort()
	w := must.Get(b.Column("sorted", KindInt))(t)
	w.Sort()
	must.Do(t, w.Put(3, ValueOf(1)))
	cancel()
	if err := b.Commit(nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
