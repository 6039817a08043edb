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
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Badger makes a table of level 0 of each memtable, and merges none. A fold does: it makes one run of tables, of a
// level of its own, of that run and of the tables of level 0. It merges them beside readers and writers. Then, in a
// moment without any snapshot, it closes Badger, replaces the manifest by one that names the run and the tables which
// came since, and opens Badger anew. So of each key the newest version is enough.
//
// A crash leaves files that the manifest does not name: what was made, before the manifest is replaced, and after that
// what was merged. The next open removes them (unnamed.go).

const (
	// foldLevel is the level of the run in the manifest.
	foldLevel = packLevel - 1

	// foldAt is of how many tables of level 0 a fold is due: each read of a small record may look into all of them.
	foldAt = 12
)

// A Fold is one that was begun.
type Fold struct {
	d      *DB
	merges manifest
	isDead func(key []byte) bool
	out    *PackWriter
}

// FoldDue reports whether a fold is due. The caller holds the writer's lock.
func (d *DB) FoldDue() bool {
	return d.db != nil && d.failure.err() == nil && d.firstTables() >= d.foldAt
}

// firstTables is how many tables of level 0 there are, or are being made.
func (d *DB) firstTables() int {
	return d.flushes.tables + int(d.failure.flushes.Load())
}

// BeginFold begins a fold, to be ended or cancelled. It drops the records of keys that are dead: no commit from the
// last on reads them. The caller holds the writer's lock.
func (d *DB) BeginFold(isDead func(key []byte) bool) (*Fold, error) {
	m, err := readManifest(d.dir) // what is being entered is for the next fold
	if err != nil {
		return nil, err
	}
	d.foldAt = d.firstTables() + foldAt // if this one fails
	return &Fold{d: d, merges: m, isDead: isDead, out: d.NewPacks()}, nil
}

// merged are the numbers of the tables that are merged, from the oldest on.
func (f *Fold) merged() []uint64 {
	return slices.SortedFunc(maps.Keys(f.merges.levels), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(f.merges.levels[b], f.merges.levels[a]), cmp.Compare(a, b))
	})
}

// Merge makes the new tables. Others may read and write. A damaged table is an ErrCorrupt that names it. A deletion is
// of no more use if no pack has what it deletes: no other table of Badger's has it any more.
func (f *Fold) Merge(ctx context.Context) error {
	held := f.d.packs.acquire()
	defer f.d.packs.release(held) //nolint:errcheck // a pack that stays behind is removed by the next open
	return wrapBadger(pack.GuardFaults(func() (err error) {
		var inputs []pack.Input
		size, newest := int64(0), uint64(0)
		for _, id := range f.merged() {
			r, opening := pack.Open(table.NewFilename(id, f.d.dir))
			if opening != nil {
				return opening
			}
			defer func() { err = errors.Join(err, r.Close()) }()
			size += r.Mark.Size
			newest = max(newest, r.Index().MaxVersion())
			inputs = append(inputs, &foldInput{Reader: r})
		}
		if err := storedir.CheckRoom(f.d.dir, size+SpareRoom); err != nil {
			return err
		}
		tables := 0
		f.out.own = func() *pack.Writer {
			tables++
			w := pack.NewWriter(filepath.Join(f.d.dir, fmt.Sprintf("spill-fold-%d.tmp", tables)))
			w.Newest = newest
			return w
		}
		err = pack.Merge(ctx, inputs, func(e pack.Entry) error {
			key, value := y.ParseKey(e.Key), e.Value.Value
			if f.isDead(key) || record.IsDeletion(key, value) && !held.mayHave(key) {
				return nil
			}
			return f.out.add(ownStream, key, value, y.ParseTs(e.Key))
		})
		return cmp.Or(err, f.out.Flush())
	}))
}

// A foldInput reads a table, and compares the checksum of each block.
type foldInput struct {
	*pack.Reader
	next int // block
	salvaged
}

// Next goes to the next entry.
func (in *foldInput) Next() (on bool, err error) {
	if len(in.rest) == 0 && in.next < in.Blocks() {
		if in.rest, err = in.Block(in.next); err != nil {
			return false, err
		}
		in.next++
	}
	return in.salvaged.Next()
}

// endWait is how long snapshots wait to begin until those before them have ended. One that reads a statement's worth
// takes less.
const endWait = 20 * time.Millisecond

// End has the new tables take the place of those that were merged, unless a snapshot goes on: then it has not ended.
// It closes Badger and opens it anew; if it cannot, the database has failed. The caller holds the writer's lock.
func (f *Fold) End() (ended bool, err error) {
	d := f.d
	if err := cmp.Or(d.failure.err(), d.Closable(SpareRoom)); err != nil {
		return false, err
	}
	d.packs.mu.Lock() // no snapshot begins
	defer d.packs.mu.Unlock()
	for until := time.Now().Add(endWait); d.txns.Load() > 0; time.Sleep(endWait / 20) {
		if time.Now().After(until) {
			return false, nil
		}
	}
	opt := d.db.Opts()
	err = errors.Join(wrapBadger(d.db.Close()), d.failure.err())
	if err == nil {
		if err = f.install(); err != nil {
			d.failure.set(err) // nobody knows which tables a crash would leave
		}
	}
	db, opening := badger.OpenManaged(opt)
	if opening != nil {
		d.failure.set(opening)
		return true, errors.Join(err, wrapBadger(opening))
	}
	d.db = db
	d.output.Store(0)
	d.failure.flushes.Store(0)
	d.flushes = flushCount{tables: db.Levels()[0].NumTables}
	d.foldAt = foldAt
	return true, err
}

// install has the manifest name the new tables, and those that came since the fold began, and removes the others.
// Badger is closed.
func (f *Fold) install() error {
	m, err := readManifest(f.d.dir)
	if err := cmp.Or(err, m.cut); err != nil {
		return err
	}
	for len(f.out.ended) > 0 {
		if err := f.number(m); err != nil {
			return err
		}
	}
	if err := f.name(m); err != nil {
		return err
	}
	for _, id := range f.merged() { // the oldest first (unnamed.go)
		if err := os.Remove(table.NewFilename(id, f.d.dir)); err != nil {
			return err
		}
	}
	return nil
}

// number gives a new table the name that Badger knows it by, and enters it in a manifest.
func (f *Fold) number(m manifest) error {
	id := slices.Max(slices.Collect(maps.Keys(m.levels))) + 1
	if err := os.Rename(f.out.ended[0].Path(), table.NewFilename(id, f.d.dir)); err != nil {
		return err
	}
	f.out.ended = f.out.ended[1:]
	m.levels[id] = foldLevel
	return nil
}

// name replaces the manifest.
func (f *Fold) name(m manifest) error {
	for id := range f.merges.levels {
		delete(m.levels, id)
	}
	if err := durable.SyncDirectory(f.d.dir); err != nil {
		return err
	}
	return m.write(f.d.dir, nil)
}

// Cancel removes the packs that a fold made and did not install.
func (f *Fold) Cancel() error { return f.out.Cancel() }
