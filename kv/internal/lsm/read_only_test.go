package lsm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// readOnlyOptions are those of a database that is only read.
var readOnlyOptions = Options{MemoryBudget: testBudget, ReadOnly: true}

// randomBody draws a body, mostly small, some longer than a block of a table.
func randomBody(r *rand.Rand) []byte {
	body := make([]byte, r.IntN(1<<r.IntN(16)))
	for i := range body {
		body[i] = byte(r.Uint32())
	}
	return body
}

// drawnDatabase makes a database with several tables: records that were written, written again and deleted.
func drawnDatabase(t *testing.T, r *rand.Rand) (dir string) {
	dir = filepath.Join(t.TempDir(), "store")
	for range 6 {
		d := openTest(t, dir)
		txn := d.Begin(true)
		err := d.makeRoom(16 << 20)
		for range r.IntN(200) {
			key := testKey(r.IntN(300))
			if r.IntN(4) == 0 {
				err = errors.Join(err, txn.Set(key, nil))
			} else {
				err = errors.Join(err, txn.Set(key, record.Encode(key, randomBody(r))))
			}
		}
		err = errors.Join(err, txn.Commit(d.Version()+1))
		txn.Discard()
		must.Do(t, err)
		closeTest(t, d)
	}
	return dir
}

// told is all that a database tells of its records.
func told(t *testing.T, d *DB) (lines []string) {
	txn := d.Begin(false)
	defer txn.Discard()
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	say("version %d", txn.ReadVersion())
	for i := range 302 {
		value, version, err := txn.Get(testKey(i))
		say("%d: %x %v, %d", i, value, err, version)
	}
	lookups := txn.Lookups(record.Prefix(record.KindSpace, 1))
	for step := range 900 { // all in order, and then here and there
		i := step
		if step >= 302 {
			i = step * 7919 % 302
		}
		err := lookups.Record(testKey(i), func(body []byte) error {
			say("%d: looked up %x", i, body)
			return nil
		})
		say("%d: %v", i, err)
	}
	for _, prefix := range [][]byte{nil, record.Prefix(record.KindSpace, 1), testKey(7)[:8], testKey(9),
		record.Prefix(record.KindSpace, 2)} {
		for _, descending := range []bool{false, true} {
			it := txn.Iterator(prefix, descending)
			for _, from := range [][]byte{prefix, testKey(0), testKey(77), testKey(78), testKey(150), testKey(299),
				testKey(400), {0xff}} {
				if len(from) == 0 {
					continue
				}
				steps := 0
				for err := it.Seek(from); it.Valid(); err = it.Next() {
					value, reading := it.Value()
					say("%q %v from %q: %q %d %d %x %v %v", prefix, descending, from, it.Key(), it.Version(), it.ValueSize(), value,
						err, reading)
					if steps++; steps == 400 {
						break
					}
				}
				say("%d", steps)
			}
			it.Close()
		}
	}
	return lines
}

// TestReadOnlyIsAsBadger reads drawn databases without Badger, and expects what Badger has read.
func TestReadOnlyIsAsBadger(t *testing.T) {
	for seed := range uint64(8) {
		dir := drawnDatabase(t, rand.New(rand.NewPCG(seed, 3)))
		opt := must.Get(badgerOptions(dir, readOnlyOptions))(t)
		opt.ReadOnly = true
		db, err := badger.OpenManaged(opt) // which merges nothing
		must.Do(t, err)
		reference := &DB{db: db, failure: new(writeFailure), packs: packs{now: newPackSet(nil)}}
		reference.last.Store(db.MaxVersion())
		want := told(t, reference)
		must.Do(t, db.Close())
		d := must.Get(Open(dir, readOnlyOptions))(t)
		got := told(t, d)
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Fatalf("seed %d, line %d: got %.300s, want %.300s", seed, i, got[i], want[i])
			}
		}
		if len(got) != len(want) {
			t.Errorf("seed %d: got %d lines, want %d", seed, len(got), len(want))
		}
		must.Do(t, d.Close())
	}
}

// TestReadOnlyIndexIsCompared changes the index of a table: opening says that it is damaged.
func TestReadOnlyIndexIsCompared(t *testing.T) {
	dir := sessions(t, 2)
	path := slices.Max(tablesIn(t, dir))
	text := must.Get(os.ReadFile(path))(t)
	r := must.Get(pack.Open(path))(t)
	_, end, err := r.Place(r.Blocks() - 1)
	filter := strings.Index(string(text[end:]), string(r.Index().BloomFilterBytes()))
	if err := errors.Join(err, r.Close()); err != nil || filter < 0 {
		t.Fatal(err, filter)
	}
	text[end+filter] ^= 1
	must.Do(t, os.WriteFile(path, text, 0o600))
	if _, err := Open(dir, readOnlyOptions); !errors.Is(err, record.ErrCorrupt) || strings.Count(err.Error(), dir) != 1 ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("a changed table: got %v, want ErrCorrupt of %s", err, path)
	}
}

// TestReadOnlyStaysWithItsTables opens a database to read it, and then has another lie under its path, tables missing
// for a while, and tables that others were put in the place of.
func TestReadOnlyStaysWithItsTables(t *testing.T) {
	dir, other := drawnDatabase(t, rand.New(rand.NewPCG(1, 3))), drawnDatabase(t, rand.New(rand.NewPCG(2, 3)))
	open := func() *DB {
		t.Helper()
		d := must.Get(Open(dir, readOnlyOptions))(t)
		return d
	}
	get := func(d *DB) error {
		return d.View(func(txn *Txn) error {
			_, _, err := txn.Get(testKey(1))
			return err
		})
	}
	rename := func(from, to string) {
		t.Helper()
		must.Do(t, os.Rename(from, to))
	}
	before := open()
	want := told(t, before)
	closeTest(t, before)

	d := open()
	defer closeTest(t, d)
	tables := tablesIn(t, dir)
	for _, path := range tables {
		rename(path, path+".away")
	}
	if err := get(d); !errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("without tables: got %v, want ErrCorrupt", err)
	}
	for _, path := range tables {
		rename(path+".away", path)
		must.Do(t, os.Chmod(path, 0o640))
	}
	away := dir + ".away"
	rename(dir, away)
	rename(other, dir)
	if got := told(t, d); !slices.Equal(got, want) {
		t.Error("with another database under its path it does not tell the same")
	}
	rename(dir, other)
	rename(away, dir)

	replaced := open()
	defer closeTest(t, replaced)
	for _, path := range tables {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path+".new", text, 0o600)
		}
		must.Do(t, err)
		rename(path+".new", path)
	}
	if err := get(replaced); !errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(), "not the table") {
		t.Errorf("with tables in the place of others: got %v, want ErrCorrupt", err)
	}
}
