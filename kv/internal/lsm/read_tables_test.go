package lsm

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// readOnlyOptions are those of a database that is only read.
var readOnlyOptions = Options{MemoryBudget: testBudget, ReadOnly: true, Journal: noJournal{}}

// drawnDatabase makes a database with tables of several levels: records that were written, written again and deleted.
func drawnDatabase(t *testing.T, r *rand.Rand) (dir string) {
	dir = filepath.Join(t.TempDir(), "store")
	for session := range 6 {
		d := openTest(t, dir)
		txn := d.Begin(true)
		err := d.makeRoom(16 << 20)
		for range r.IntN(200) {
			key := testKey(r.IntN(300))
			if r.IntN(4) == 0 {
				err = errors.Join(err, txn.Delete(key))
			} else {
				err = errors.Join(err, txn.Set(key, record.Encode(key, randomBody(r))))
			}
		}
		if err = errors.Join(err, txn.Commit()); err == nil && session == 3 {
			err = d.Flatten()
		}
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
	say("version %d, %d", txn.ReadVersion(), d.FlushedVersion())
	for i := range 302 {
		value, err := txn.Get(testKey(i))
		version, reading := txn.Version(testKey(i))
		last, deleted, searching := txn.Last(testKey(i))
		say("%d: %x %v, %d %v, %d %v %v", i, value, err, version, reading, last, deleted, searching)
	}
	lookups := txn.Lookups(record.Prefix(record.KindSpace, 1))
	defer lookups.Close()
	for step := range 900 { // all in order, and then here and there
		i := step
		if step >= 302 {
			i = step * 7919 % 302
		}
		err := lookups.Record(testKey(i), step < 302, func(body []byte) error {
			say("%d: looked up %x", i, body)
			return nil
		})
		say("%d: %v", i, err)
	}
	for _, prefix := range [][]byte{nil, record.Prefix(record.KindSpace, 1), testKey(7)[:8], testKey(9), record.Prefix(record.KindSpace, 2)} {
		for _, descending := range []bool{false, true} {
			it := txn.Iterator(prefix, descending)
			for _, from := range [][]byte{prefix, testKey(0), testKey(77), testKey(78), testKey(150), testKey(299), testKey(400), {0xff}} {
				if len(from) == 0 {
					continue
				}
				steps := 0
				for err := it.Seek(from); it.Valid(); err = it.Next() {
					value, reading := it.Value()
					say("%q %v from %q: %q %d %d %x %v %v", prefix, descending, from, it.Key(), it.Version(), it.ValueSize(), value, err, reading)
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
		db, err := badger.Open(opt) // which merges nothing
		must.Do(t, err)
		want := told(t, &DB{db: db, merges: newMergeGuard(nil)})
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
		if _, err := d.Close(false); err != nil {
			t.Error(err)
		}
	}
}

// TestReadOnlyIndexIsComparedLater changes the index of a table. Where the list says that the table was compared, opening does not
// read the index, and the first read says that it is damaged. Else opening does.
func TestReadOnlyIndexIsComparedLater(t *testing.T) {
	dir := sessions(t, 2)
	path := slices.Max(tablesIn(t, dir))
	text := must.Get(os.ReadFile(path))(t)
	r := must.Get(openTableReader(path))(t)
	_, end, err := r.place(r.blocks() - 1)
	filter := strings.Index(string(text[end:]), string(r.index.BloomFilterBytes()))
	if err := errors.Join(err, r.close()); err != nil || filter < 0 {
		t.Fatal(err, filter)
	}
	text[end+filter] ^= 1
	must.Do(t, os.WriteFile(path, text, 0o600))
	if _, err := Open(dir, readOnlyOptions); !errors.Is(err, record.ErrCorrupt) || strings.Count(err.Error(), dir) != 1 || !strings.Contains(err.Error(), path) {
		t.Errorf("a changed table: got %v, want ErrCorrupt of %s", err, path)
	}
	id, _ := table.ParseFileID(filepath.Base(path))
	v := readVerified(dir)
	listed := v.listed[id]
	if listed.Mark, err = storedir.MarkOf(path); err != nil {
		t.Fatal(err)
	}
	v.listed[id] = listed
	v.save()
	d, err := Open(dir, readOnlyOptions)
	must.Do(t, err)
	defer d.Close(false)
	err = d.View(func(txn *Txn) error {
		_, err := txn.Get(testKey(1))
		it := txn.Iterator(record.Prefix(record.KindSpace, 1), false)
		defer it.Close()
		for _, err := range []error{err, it.Seek(testKey(1))} {
			if !errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(), path) {
				t.Errorf("a read: got %v, want ErrCorrupt of %s", err, path)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestReadOnlyStaysWithItsTables opens a database to read it, and then has another lie under its path, tables missing for a while, and tables
// that others were put in the place of.
func TestReadOnlyStaysWithItsTables(t *testing.T) {
	dir, other := drawnDatabase(t, rand.New(rand.NewPCG(1, 3))), drawnDatabase(t, rand.New(rand.NewPCG(2, 3)))
	open := func() *DB {
		t.Helper()
		d := must.Get(Open(dir, readOnlyOptions))(t)
		return d
	}
	get := func(d *DB) error {
		return d.View(func(txn *Txn) error {
			_, err := txn.Get(testKey(1))
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

// TestAskAgain asks the system for a block again after a while, and not before.
func TestAskAgain(t *testing.T) {
	d := must.Get(Open(drawnDatabase(t, rand.New(rand.NewPCG(4, 0))), readOnlyOptions))(t)
	defer closeTest(t, d)
	table := d.tables.runs[0][0]
	must.Do(t, table.open())
	from, to, err := table.place(0)
	must.Do(t, err)
	table.mustAsk(0, from, to)
	const another = 1 << 63 // a block that is not there
	table.seen[0] |= another
	if table.mustAsk(0, from, to); table.seen[0] != another|1 {
		t.Errorf("at once: got %b, want that nothing is forgotten", table.seen[0])
	}
	table.forgotten.Add(-askAgain)
	if table.mustAsk(0, from, to); table.seen[0] != 1 {
		t.Errorf("after a while: got %b, want one block", table.seen[0])
	}
}

// TestWalkEndsBeforeOtherRecords walks a few records down to the first. Those before them, which are many and were deleted, are not read.
func TestWalkEndsBeforeOtherRecords(t *testing.T) {
	const dropped = 4000
	dir := filepath.Join(t.TempDir(), "store")
	d := openTest(t, dir)
	set(t, d, dropped, strings.Repeat("a body that fills blocks ", 8))
	closeTest(t, d)
	d = openTest(t, dir)
	txn := d.Begin(true)
	err := d.makeRoom(16 << 20)
	for i := range dropped {
		err = errors.Join(err, txn.Delete(testKey(i)))
	}
	prefix := record.Prefix(record.KindSpace, 2)
	for i := range byte(3) {
		key := append(slices.Clone(prefix), i)
		err = errors.Join(err, txn.Set(key, record.Encode(key, []byte{i})))
	}
	must.Do(t, errors.Join(err, txn.Commit()))
	txn.Discard()
	closeTest(t, d)

	if d, err = Open(dir, readOnlyOptions); err != nil {
		t.Fatal(err)
	}
	defer closeTest(t, d)
	walk := d.tables.walk(prefix, true)
	records := 0
	for err = walk.seek(append(slices.Clone(prefix), 0xff)); walk.valid(); err = errors.Join(err, walk.next()) {
		records++
	}
	if err != nil || records != 3 {
		t.Errorf("%d records, %v, want 3", records, err)
	}
	for _, c := range walk.cursors {
		if !c.valid() {
			t.Errorf("the tables from %s on were read to their first record", filepath.Base(c.run[0].path))
		}
	}
}

// TestWillRead says which records will be read: then the system was asked for all blocks in which they lie, and the records are the same.
func TestWillRead(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 0))
	dir := drawnDatabase(t, r)
	plain := must.Get(Open(dir, readOnlyOptions))(t)
	defer closeTest(t, plain)
	want := told(t, plain)
	d, err := Open(dir, readOnlyOptions)
	must.Do(t, err)
	defer closeTest(t, d)
	txn := d.Begin(false)
	defer txn.Discard()
	var wanted []int // of those that are there: of others, the block behind is read too
	err = plain.View(func(txn *Txn) error {
		for i := range 300 {
			if _, err := txn.Get(testKey(i)); err == nil && i%9 < 2 {
				wanted = append(wanted, i)
			}
		}
		return nil
	})
	if err != nil || len(wanted) < 10 {
		t.Fatalf("got %d records, %v, want some more", len(wanted), err)
	}
	asked := func() (blocks int) {
		for _, run := range d.tables.runs {
			for _, table := range run {
				for _, word := range table.seen {
					blocks += bits.OnesCount64(word)
				}
			}
		}
		return blocks
	}
	for _, run := range d.tables.runs {
		for _, table := range run {
			must.Do(t, table.open())
			table.tells = false // as if none of it were in memory
		}
	}
	txn.WillRead(func(yield func([]byte) bool) {
		for _, i := range wanted {
			if !yield(testKey(i)) {
				return
			}
		}
	})
	before := asked()
	if before == 0 {
		t.Error("no block was asked for")
	}
	for _, i := range wanted {
		must.Get(txn.Get(testKey(i)))(t)
	}
	if after := asked(); after != before {
		t.Errorf("%d blocks were asked for before the records were read, and %d after", before, after)
	}
	if got := told(t, d); !slices.Equal(got, want) {
		t.Error("the database does not tell the same")
	}
}
