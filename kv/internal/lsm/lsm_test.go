package lsm

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// testBudget is the memory budget of databases of tests.
const testBudget = 64 << 20

// openTest opens a database, or makes it, until the test ends.
func openTest(t testing.TB, dir string) *DB {
	t.Helper()
	must.Do(t, storedir.Make(dir))
	return must.Get(Open(dir, Options{MemoryBudget: testBudget}))(t)
}

func closeTest(t testing.TB, d *DB) {
	t.Helper()
	must.Do(t, d.Close())
}

// testDB is an empty database that is closed when the test ends.
func testDB(t testing.TB) *DB {
	t.Helper()
	d := openTest(t, filepath.Join(t.TempDir(), "store"))
	t.Cleanup(func() { closeTest(t, d) })
	return d
}

// testKey is the key of a record of tests.
func testKey(i int) []byte {
	return fmt.Appendf(record.Prefix(record.KindSpace, 1), "%04d", i)
}

// set writes records in one transaction.
func set(t testing.TB, d *DB, count int, body string) {
	t.Helper()
	txn := d.Begin(true)
	defer txn.Discard()
	err := d.makeRoom(int64(count * (200 + len(body))))
	for i := range count {
		err = errors.Join(err, txn.Set(testKey(i), record.Encode(testKey(i), fmt.Append(nil, body, i))))
	}
	changes := record.ChangesKey(d.Version() + 1)
	err = errors.Join(err, txn.Set(changes, record.Encode(changes, nil)))
	must.Do(t, errors.Join(err, txn.Commit(d.Version()+1)))
}

// sessions makes a database that was opened and closed so many times, and written to each time: each leaves a table.
func sessions(t testing.TB, times int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	for session := range times {
		d := openTest(t, dir)
		set(t, d, 20, fmt.Sprint("session ", session))
		closeTest(t, d)
	}
	return dir
}

// tablesIn are the paths of the tables in a directory.
func tablesIn(t testing.TB, dir string) []string {
	t.Helper()
	paths, err := storedir.FilesNamed(dir, "", ".sst")
	if err != nil || len(paths) == 0 {
		t.Fatal("there is no table", err)
	}
	return paths
}

// TestRecords writes records, reads them in both directions and by their keys, and deletes one.
func TestRecords(t *testing.T) {
	d := testDB(t)
	set(t, d, 50, "body")
	prefix := record.Prefix(record.KindSpace, 1)
	for _, descending := range []bool{false, true} {
		txn := d.Begin(false)
		it := txn.Iterator(prefix, descending)
		from, at, step := prefix, 0, 1
		if descending {
			from, at, step = testKey(49), 49, -1
		}
		count := 0
		for err := it.Seek(from); it.Valid(); err = it.Next() {
			r, ok, reading := it.Record()
			if err := errors.Join(err, reading); err != nil || !ok || !bytes.Equal(it.Key(), testKey(at)) ||
				string(r.Body) != fmt.Sprint("body", at) {
				t.Fatalf("got %q of %q, %v, want that of %d", r.Body, r.Key, err, at)
			}
			at += step
			count++
		}
		if count != 50 {
			t.Errorf("got %d records, want 50", count)
		}
		it.Close()
		txn.Discard()
	}
	b := d.Batch(d.Version() + 1)
	defer b.Cancel()
	must.Do(t, errors.Join(b.Set(testKey(7), nil), b.Flush()))
	err := d.View(func(txn *Txn) error {
		if _, _, err := txn.Get(testKey(7)); !errors.Is(err, record.ErrNotFound) {
			t.Errorf("a deleted record: got %v, want ErrNotFound", err)
		}
		if err := txn.Set(testKey(8), nil); !errors.Is(err, ErrReadOnly) {
			t.Errorf("a transaction that reads: got %v, want ErrReadOnly", err)
		}
		_, _, err := txn.Get(testKey(8))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Badger sorts all that a transaction has written for each new iterator: one that is closed is handed out again, until
// the next write, which it would not see.
func TestIteratorsAreUsedAgain(t *testing.T) {
	txn := testDB(t).Begin(true)
	defer txn.Discard()
	read := func() (n int, out *Iterator) {
		out = txn.Iterator(testKey(0)[:1], false)
		defer out.Close()
		must.Do(t, out.Seek(testKey(0)))
		for ; out.Valid(); n++ {
			must.Do(t, out.Next())
		}
		return n, out
	}
	for i := range 3 {
		must.Do(t, txn.Set(testKey(i), record.Encode(testKey(i), nil)))
		n, first := read()
		again, second := read()
		if n != i+1 || again != n || first != second {
			t.Errorf("after %d writes: %d and %d records, one iterator: %v", i+1, n, again, first == second)
		}
	}
}
