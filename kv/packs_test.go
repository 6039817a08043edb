package kv

import (
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestBadgerReadsAClosedStore opens a closed store with Badger alone, to read it: every node, list, label and row of
// a matrix is there, as a record, and nothing else.
func TestBadgerReadsAClosedStore(t *testing.T) {
	dir := everyKind(t, 300)
	s := openStore(t, dir, Options{})
	must.Do(t, s.Compact(t.Context(), nil))
	update(t, s, func(tx *Tx) error { // over, and beside, what is in packs
		return errors.Join(tx.SetLabel(3, "another"), tx.Space("lent").Delete([]byte("key 000100")), tx.RemoveNode(5))
	})
	closeStore(t, s)
	s = openStore(t, dir, Options{ReadOnly: true})
	want := must.Get(contents(s))(t)
	closeStore(t, s)

	got, kinds := map[string]string{}, map[record.Kind]int{}
	db := must.Get(badger.Open(badger.DefaultOptions(dir).WithReadOnly(true).WithLogger(nil)))(t)
	err := db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.DefaultIteratorOptions)
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			key := it.Item().KeyCopy(nil)
			value, err := it.Item().ValueCopy(nil)
			if err != nil {
				return err
			}
			body, err := record.Decode(key, value)
			if errors.Is(err, ErrNotFound) {
				continue // it says that the key was deleted
			}
			if err != nil {
				return err
			}
			got[hex.EncodeToString(key)] = string(body)
			kinds[record.Kind(key[0])]++
		}
		return nil
	})
	must.Do(t, errors.Join(err, db.Close()))
	if !maps.Equal(got, want) {
		t.Errorf("Badger reads %d records, and the store %d, or others", len(got), len(want))
	}
	for _, k := range []record.Kind{
		record.KindIDs, record.KindNodeAt, record.KindAdjacency, record.KindColumn, record.KindColumnDelta, record.KindMatrix,
		record.KindSpace,
	} {
		if kinds[k] == 0 {
			t.Errorf("Badger reads no record of the kind %s", k)
		}
	}
}

// TestStoreThatAnotherProgramWroteTo has Badger alone write to a closed store: it is refused.
func TestStoreThatAnotherProgramWroteTo(t *testing.T) {
	dir := everyKind(t, 100)
	damagedStores.Store(dir, true)
	db := must.Get(badger.Open(badger.DefaultOptions(dir).WithLogger(nil)))(t)
	must.Do(t, errors.Join(db.Update(func(txn *badger.Txn) error { return txn.Set([]byte("key"), []byte("value")) }),
		db.Close()))
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "another program") {
		t.Errorf("got %v, want ErrCorrupt that says why", err)
	}
}

// packBytesOf are the bytes of the packs of an open store.
func packBytesOf(t *testing.T, s *Store) (bytes int64) {
	t.Helper()
	for _, name := range fileNames(t, s.Dir(), "*.pack") {
		bytes += must.Get(os.Stat(filepath.Join(s.Dir(), name)))(t).Size()
	}
	return bytes
}

// dropColumn removes a column, as what replaces it does.
func dropColumn(name string) func(tx *Tx) error {
	return func(tx *Tx) error {
		c, err := tx.change()
		if err == nil {
			delete(c.Columns, name)
		}
		return err
	}
}

// TestDroppedColumnGivesItsBytesBack drops a column beside a snapshot, which goes on reading it: its pack goes with
// the snapshot.
func TestDroppedColumnGivesItsBytesBack(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 20_000)
	before := packBytesOf(t, s)
	b := beginBulk(t, s)
	w := must.Get(b.Column("score", KindFloat))(t)
	for v := range NodeID(20_000) {
		must.Do(t, w.Put(v, ValueOf(float64(v)*0.37)))
	}
	must.Do(t, b.Commit(nil))
	if got := packBytesOf(t, s); got < before+20_000 {
		t.Fatalf("the column takes %d bytes: the test shows nothing", got-before)
	}
	snapshot := s.Begin()
	update(t, s, dropColumn("score"))
	for v := range NodeID(20_000) {
		if got, err := snapshot.Value(v, "score"); err != nil || got != ValueOf(float64(v)*0.37) {
			t.Fatalf("node %d: got %v, %v", v, got, err)
		}
	}
	if err := snapshot.Err(); err != nil {
		t.Error(err)
	}
	snapshot.Close()
	if got := packBytesOf(t, s); got != before {
		t.Errorf("packs take %d bytes, want %d as before the column", got, before)
	}
}

// TestLostCatalogue loses the commit that dropped packs, as a damaged log of Badger may: the copy of the catalogue
// tells.
func TestLostCatalogue(t *testing.T) {
	early := everyKind(t, 100)
	damagedStores.Store(early, true)
	s := openStore(t, copyStore(t, early), Options{})
	must.Do(t, s.Compact(t.Context(), nil))
	closeStore(t, s)
	copied := must.Get(os.ReadFile(filepath.Join(s.Dir(), "catalog")))(t)
	must.Do(t, os.WriteFile(filepath.Join(early, "catalog"), copied, 0o600))
	if _, err := Open(early, Options{}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(),
		"a later catalogue is lost") {
		t.Errorf("got %v, want ErrCorrupt that says that commits are missing", err)
	}
}
