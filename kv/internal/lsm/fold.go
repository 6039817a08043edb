package lsm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Badger makes a table of level 0 of each memtable, and merges none. A fold does: it makes one run of tables, of a
// level of its own, of that run and of the tables of level 0. It merges them beside readers and writers. Then, alone,
// it closes Badger, replaces the manifest by one that names the run and the tables which came since, and opens Badger
// anew. Snapshots go on (reading.go).
//
// A crash leaves files that the manifest does not name: what was made, before the manifest is replaced, and after that
// what was merged. The next open removes them (unnamed.go).

const (
	// foldLevel is the level of the run in the manifest.
	foldLevel = packLevel - 1

	// foldAt is of how many tables of level 0 a fold is due: each read of a small record may look into all of them.
	foldAt = 12

	// foldBytes is the size at which a table of the run ends.
	foldBytes = 16 << 20
)

// A Fold is one that was begun.
type Fold struct {
	d      *DB
	merged []uint64 // the numbers of the tables that are merged, from the oldest on
	bytes  int64    // of them
	held   *packSet
	tables pack.Fold
	made   []string
}

// FoldDue reports whether a fold is due. The caller holds the writer's lock.
func (d *DB) FoldDue() bool {
	return d.tables == nil && d.failure.err() == nil && d.firstTables() >= d.foldAt
}

// firstTables is how many tables of level 0 there are, or are being made.
func (d *DB) firstTables() int {
	return d.flushes.tables + int(d.failure.flushes.Load()-d.flushes.before)
}

// BeginFold begins a fold, which must be ended. It drops the records of keys that are dead: no commit from the last on
// reads them. The caller holds the writer's lock.
func (d *DB) BeginFold(isDead func(key []byte) bool) (*Fold, error) {
	f := &Fold{d: d}
	var seen []uint64
	f.held = d.packs.acquire(func() { seen = d.versions.all() })
	if err := f.begin(seen, isDead); err != nil {
		return nil, errors.Join(err, d.packs.release(f.held))
	}
	d.foldAt = d.firstTables() + foldAt // if this one fails
	return f, nil
}

func (f *Fold) begin(seen []uint64, isDead func(key []byte) bool) error {
	m, err := readManifest(f.d.dir) // what is being entered is for the next fold
	if err != nil {
		return err
	}
	f.merged = slices.SortedFunc(maps.Keys(m.levels), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(m.levels[b], m.levels[a]), cmp.Compare(a, b))
	})
	for _, id := range f.merged {
		path := table.NewFilename(id, f.d.dir)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		f.bytes += info.Size()
		f.tables.From = append(f.tables.From, path)
	}
	// A snapshot that is older than the last commit may read what is dead.
	isNewest := len(seen) == 1
	f.tables.Seen = seen
	f.tables.Most = foldBytes
	f.tables.IsDead = func(key []byte) bool { return isNewest && isDead(key) }
	f.tables.IsCovered = func(key []byte) (bool, error) {
		if !record.Kind(key[0]).InPacks() {
			return false, nil
		}
		packs := f.held.of(key)
		if packs == nil {
			return isDead(key), nil // only an older snapshot knows whether it has packs
		}
		version, _, err := packs.Cursors().Last(key)
		return version > 0, err
	}
	f.tables.Name = func() string {
		f.d.folded++
		return filepath.Join(f.d.dir, fmt.Sprintf("spill-fold-%d.tmp", f.d.folded))
	}
	return nil
}

// Merge makes the new tables. Others may read and write. A damaged table is an ErrCorrupt that names it.
func (f *Fold) Merge(ctx context.Context) (err error) {
	if err := storedir.CheckRoom(f.d.dir, f.bytes+SpareRoom); err != nil {
		return err
	}
	f.made, err = f.tables.Run(ctx)
	return wrapBadger(err)
}

// End has the new tables take the place of those that were merged. It closes Badger and opens it anew; if it cannot,
// the database has failed. The caller holds the writer's lock.
func (f *Fold) End() error {
	d := f.d
	if len(f.made) == 0 {
		return f.Cancel()
	}
	if err := cmp.Or(d.failure.err(), d.Closable(SpareRoom)); err != nil {
		return errors.Join(err, f.Cancel())
	}
	d.opening.Lock()
	defer d.opening.Unlock()
	d.reads.Lock()
	for r := range d.readings {
		r.suspend()
	}
	d.reads.Unlock()
	opt := d.db.Opts()
	err := errors.Join(wrapBadger(d.db.Close()), d.failure.err())
	if err == nil {
		if err = f.install(); err != nil {
			d.failure.set(err) // nobody knows which tables a crash would leave
		}
	}
	err = errors.Join(err, f.Cancel())
	db, opening := badger.OpenManaged(opt)
	if opening != nil {
		d.failure.lose(opening)
		return errors.Join(err, wrapBadger(opening))
	}
	d.db = db
	d.output.Store(0)
	d.flushes = flushCount{before: d.failure.flushes.Load(), tables: db.Levels()[0].NumTables}
	d.foldAt = foldAt
	return err
}

// install has the manifest name the new tables, and those that came since the fold began, and removes the others.
// Badger is closed.
func (f *Fold) install() error {
	m, err := readManifest(f.d.dir)
	if err := cmp.Or(err, m.cut); err != nil {
		return err
	}
	for len(f.made) > 0 {
		if err := f.number(m); err != nil {
			return err
		}
	}
	if err := f.name(m); err != nil {
		return err
	}
	for _, id := range f.merged { // the oldest first (unnamed.go)
		if err := os.Remove(table.NewFilename(id, f.d.dir)); err != nil {
			return err
		}
	}
	return nil
}

// number gives a new table the name that Badger knows it by, and enters it in a manifest.
func (f *Fold) number(m manifest) error {
	id := slices.Max(slices.Collect(maps.Keys(m.levels))) + 1
	if err := os.Rename(f.made[0], table.NewFilename(id, f.d.dir)); err != nil {
		return err
	}
	f.made = f.made[1:]
	m.levels[id] = foldLevel
	return nil
}

// name replaces the manifest.
func (f *Fold) name(m manifest) error {
	for _, id := range f.merged {
		delete(m.levels, id)
	}
	if err := durable.SyncDirectory(f.d.dir); err != nil {
		return err
	}
	return m.write(f.d.dir, nil)
}

// Cancel ends a fold, and removes what it made and did not install.
func (f *Fold) Cancel() (err error) {
	for _, path := range f.made {
		err = errors.Join(err, f.d.disk.Remove(path))
	}
	f.made = nil
	return errors.Join(err, f.d.packs.release(f.held))
}
