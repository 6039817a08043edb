package lsm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

func nothingIsDead([]byte) bool { return false }

// foldNow folds a database, of which there is no snapshot. The caller holds the writer's lock.
func foldNow(d *DB, isDead func(key []byte) bool) error {
	f, err := d.BeginFold(isDead)
	if err == nil {
		err = f.Merge(context.Background())
	}
	if err == nil {
		var ended bool
		if ended, err = f.End(); err == nil && !ended {
			err = errors.New("there is a snapshot")
		}
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

// TestFoldWaits folds a database that has snapshots, and that others read: it ends once they have.
func TestFoldWaits(t *testing.T) {
	t.Parallel()
	dir := sessions(t, foldAt)
	d := openTest(t, dir)
	defer closeTest(t, d)
	if !d.FoldDue() {
		t.Fatalf("no fold is due of %d tables", foldAt)
	}
	older := d.Begin(false)
	want := textOf(t, older)
	set(t, d, 10, "later")
	newer := d.Begin(false)
	wantNewer := textOf(t, newer)
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				must.Do(t, d.View(func(txn *Txn) error {
					if got := textOf(t, txn); got != wantNewer {
						t.Errorf("a reader reads %.300s, want %.300s", got, wantNewer)
					}
					time.Sleep(time.Millisecond)
					return nil
				}))
			}
		})
	}
	f := must.Get(d.BeginFold(nothingIsDead))(t)
	must.Do(t, f.Merge(t.Context()))
	for snapshot, want := range map[*Txn]string{older: want, newer: wantNewer} {
		if ended, err := f.End(); ended || err != nil {
			t.Errorf("beside a snapshot: the fold has ended: %v, %v", ended, err)
		}
		if got := textOf(t, snapshot); got != want {
			t.Errorf("a snapshot reads %s, want %s", got, want)
		}
		snapshot.Discard()
	}
	for tries := 0; !must.Get(f.End())(t); tries++ { // there is a reader at all times
		if tries == 100 {
			t.Fatal("the fold does not end between readers")
		}
	}
	time.Sleep(10 * time.Millisecond)
	stop()
	readers.Wait()
	if levels := levelsOf(t, dir); levels[foldLevel] != 1 || levels[0] > 1 || d.FoldDue() {
		t.Errorf("there are tables of levels %v, want one of level %d and at most one of 0", levels, foldLevel)
	}
	version := d.Version()
	set(t, d, 5, "last")
	if d.Version() != version+1 {
		t.Errorf("the last commit has version %d, want %d", d.Version(), version+1)
	}
}

// TestFoldOfDamage changes each block, and the index, of a table: the fold is an ErrCorrupt that names the table, and
// all files stay as they are.
func TestFoldOfDamage(t *testing.T) {
	t.Parallel()
	dir := sessions(t, 3)
	d := openTest(t, dir)
	defer closeTest(t, d)
	path := tablesIn(t, dir)[1]
	whole := must.Get(os.ReadFile(path))(t)
	r := must.Get(pack.Open(path))(t)
	places := []int{len(whole) - 40}
	for i := range r.Blocks() {
		from, to, err := r.Place(i)
		must.Do(t, err)
		places = append(places, (from+to)/2)
	}
	must.Do(t, r.Close())
	for _, at := range places {
		text := bytes.Clone(whole)
		text[at] ^= 1
		must.Do(t, os.WriteFile(path, text, 0o600))
		before := must.Get(os.ReadDir(dir))(t)
		f := must.Get(d.BeginFold(nothingIsDead))(t)
		if err := f.Merge(t.Context()); !errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(),
			filepath.Base(path)) {
			t.Errorf("byte %d: got %v, want ErrCorrupt that names %s", at, err, path)
		}
		must.Do(t, f.Cancel())
		if after := must.Get(os.ReadDir(dir))(t); len(after) != len(before) {
			t.Errorf("byte %d: %d files are left of %d", at, len(after), len(before))
		}
	}
	must.Do(t, os.WriteFile(path, whole, 0o600))
	must.Do(t, foldNow(d, nothingIsDead))
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
	f.out.most = 600 // some tables
	must.Do(t, f.Merge(t.Context()))
	step("merged")
	must.Do(t, d.db.Close())
	step("Badger closed")
	m, err := readManifest(dir)
	must.Do(t, errors.Join(err, m.cut))
	for len(f.out.ended) > 0 {
		must.Do(t, f.number(m))
		step("a table numbered")
	}
	must.Do(t, f.name(m))
	step("named")
	for _, id := range f.merged() {
		must.Do(t, os.Remove(table.NewFilename(id, dir)))
		step("a table removed")
	}
	d.db = must.Get(badger.OpenManaged(d.db.Opts()))(t)
	must.Do(t, f.Cancel())
	closeTest(t, d)
}
