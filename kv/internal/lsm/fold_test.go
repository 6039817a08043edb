package lsm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

func nothingIsDead([]byte) bool { return false }

// foldNow folds a database, whose writer's lock the caller holds.
func foldNow(d *DB, isDead func(key []byte) bool) error {
	f, err := d.BeginFold(isDead)
	if err == nil {
		if err = f.Merge(context.Background()); err != nil {
			return errors.Join(err, f.Cancel())
		}
		err = f.End()
	}
	return err
}

// textOf is every record that a transaction sees, with the keys of a prefix descending.
func textOf(t testing.TB, txn *Txn) string {
	t.Helper()
	var b strings.Builder
	for _, descending := range []bool{false, true} {
		prefix := record.Prefix(record.KindSpace, 1)
		it := txn.Iterator(prefix, descending)
		from := prefix
		if descending {
			from = append(from[:len(from):len(from)], 0xff)
		}
		for err := it.Seek(from); it.Valid(); err = it.Next() {
			rec, _, reading := it.Record()
			must.Do(t, errors.Join(err, reading))
			fmt.Fprintf(&b, "%x %s %d\n", rec.Key, rec.Body, it.Version())
		}
		it.Close()
	}
	return b.String()
}

// levelsOf are the levels of the tables that a manifest names, with how many they have.
func levelsOf(t testing.TB, dir string) map[uint8]int {
	t.Helper()
	m, err := readManifest(dir)
	must.Do(t, errors.Join(err, m.cut))
	levels := map[uint8]int{}
	for _, level := range m.levels {
		levels[level]++
	}
	return levels
}

// TestFoldGoesOn folds a database in the middle of readings: they go on where they were, and snapshots see what they
// saw. Meanwhile others read.
func TestFoldGoesOn(t *testing.T) {
	t.Parallel()
	dir := sessions(t, foldAt)
	d := openTest(t, dir)
	defer closeTest(t, d)
	if !d.FoldDue() {
		t.Fatalf("no fold is due of %d tables", foldAt)
	}
	older := d.Begin(false)
	defer older.Discard()
	want := textOf(t, older)
	set(t, d, 10, "later")
	newer := d.Begin(false)
	defer newer.Discard()
	wantNewer := textOf(t, newer)
	var stop context.CancelFunc
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				if got := textOf(t, older); got != want {
					t.Errorf("a snapshot reads %.300s, want %.300s", got, want)
					return
				}
			}
		})
	}
	prefix := record.Prefix(record.KindSpace, 1)
	for _, descending := range []bool{false, true} {
		for _, opt := range []badger.IteratorOptions{{Reverse: descending}, {Reverse: descending, AllVersions: true}} {
			opt.Prefix = prefix
			read := func(fold bool) string {
				var b strings.Builder
				r := older.read(opt)
				defer r.Close()
				if from := prefix; !descending {
					r.Seek(from)
				} else {
					r.Seek(append(from[:len(from):len(from)], 0xff))
				}
				for n := 0; r.item != nil; r.Next() {
					if n++; fold && n%7 == 0 {
						must.Do(t, foldNow(d, nothingIsDead))
					}
					value, err := badgerWalk{r}.Value()
					must.Do(t, err)
					fmt.Fprintf(&b, "%x %d %x\n", r.item.Key(), r.item.Version(), value)
				}
				if r.Next(); r.item != nil {
					t.Error("a reading goes on behind its end")
				}
				return b.String()
			}
			must.Do(t, foldNow(d, nothingIsDead)) // which drops versions that nobody sees
			if want, got := read(false), read(true); got != want || got == "" {
				t.Errorf("%+v: got %s, want %s", opt, got, want)
			}
		}
	}
	stop()
	readers.Wait()
	if got := textOf(t, newer); got != wantNewer {
		t.Errorf("got %s, want %s", got, wantNewer)
	}
	if levels := levelsOf(t, dir); levels[foldLevel] != 1 || levels[0] > 1 || d.FoldDue() {
		t.Errorf("there are tables of levels %v, want one of level %d and at most one of 0", levels, foldLevel)
	}
	set(t, d, 5, "last")
	if d.Version() != newer.sees+1 {
		t.Errorf("the last commit has version %d, want %d", d.Version(), newer.sees+1)
	}
}

// TestFoldCrashes copies a database at each step of a fold, as a crash would leave it, opens the copy, and expects
// every record.
func TestFoldCrashes(t *testing.T) {
	t.Parallel()
	dir := sessions(t, 3)
	d := openTest(t, dir)
	set(t, d, 30, "in the log")
	want, version := "", d.Version()
	must.Do(t, d.View(func(txn *Txn) error {
		want = textOf(t, txn)
		return nil
	}))
	step := func(what string) {
		t.Helper()
		crashed := filepath.Join(t.TempDir(), "store")
		must.Do(t, os.CopyFS(crashed, os.DirFS(dir)))
		for _, name := range must.Get(storedir.FilesNamed(crashed, "spill-", ".tmp"))(t) {
			must.Do(t, os.Remove(name)) // as the store does
		}
		after := openTest(t, crashed)
		defer closeTest(t, after)
		must.Do(t, after.View(func(txn *Txn) error {
			if got := textOf(t, txn); got != want || after.Version() != version {
				t.Errorf("%s: got %s of version %d, want %s of %d", what, got, after.Version(), want, version)
			}
			return nil
		}))
		must.Do(t, foldNow(after, nothingIsDead))
		set(t, after, 1, "goes on")
	}
	step("before")
	f := must.Get(d.BeginFold(nothingIsDead))(t)
	f.tables.Most = 600 // some tables
	must.Do(t, f.Merge(t.Context()))
	step("merged")
	must.Do(t, d.db.Close())
	step("Badger closed")
	m, err := readManifest(dir)
	must.Do(t, errors.Join(err, m.cut))
	for len(f.made) > 0 {
		must.Do(t, f.number(m))
		step("a table numbered")
	}
	must.Do(t, f.name(m))
	step("named")
	for _, id := range f.merged {
		must.Do(t, os.Remove(table.NewFilename(id, dir)))
		step("a table removed")
	}
	d.db = must.Get(badger.OpenManaged(d.db.Opts()))(t)
	must.Do(t, f.Cancel())
	closeTest(t, d)
}
