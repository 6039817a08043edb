package lsm

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// badgerLocked is in Badger's error if another process has the database open. It has no type.
const badgerLocked = "Another process is using this Badger database"

// Options opens a DB.
type Options struct {
	MemoryBudget int64 // bytes that the memtables, indices and filters are sized by
	ReadOnly     bool
	Loading      bool         // it is that of a load, durable once it is closed: a crash starts it over
	Logger       *slog.Logger // logs the messages of Badger, if not nil
}

// A DB is one of Badger's, in a directory that the caller has locked.
type DB struct {
	dir      string
	readOnly bool
	db       *badger.DB  // nil if tables is not
	tables   *readTables // of a database that is read without Badger

	failure *writeFailure
	disk    storedir.Disk
	output  atomic.Int64  // bytes of entries given to Badger since it was opened
	last    atomic.Uint64 // the version of the last commit, which is its number
	txns    atomic.Int64  // how many transactions there are
	packs   packs         // of one that is open for writing

	// Of who holds the writer's lock:
	flushes flushCount
	foldAt  int // tables of level 0 of which the next fold is due
	folded  int // tables that folds made
	catalog catalogFile
}

// Open opens what is in a directory, or makes it.
func Open(dir string, opt Options) (opened *DB, err error) {
	if opt.ReadOnly && storedir.HasLocks {
		return openReadOnly(dir)
	}
	b, err := badgerOptions(dir, opt)
	if err != nil {
		return nil, err
	}
	crashed, err := leftByCrash(dir)
	if err != nil {
		return nil, err
	}
	d := &DB{
		dir:      dir,
		readOnly: opt.ReadOnly,
		packs:    packs{dir: dir, now: newPackSet(nil), crashed: crashed},
		foldAt:   foldAt,
	}
	if d.disk, err = storedir.OpenDisk(dir); err != nil {
		return nil, err
	}
	d.packs.disk = d.disk
	d.failure = &writeFailure{disk: d.disk}
	b.Logger = badgerLog{cmp.Or(opt.Logger, slog.New(slog.DiscardHandler)), d.failure}
	if d.catalog, err = readCatalogFile(dir); err == nil {
		err = guardFaults(func() error { return d.open(b, crashed) })
	}
	if err != nil {
		return nil, errors.Join(err, d.disk.Close())
	}
	if opt.ReadOnly {
		return d, nil
	}
	if err := storedir.AlignModes(dir); err != nil {
		crashed, closing := d.Close()
		if closing == nil && !crashed {
			closing = storedir.UnmarkWriter(dir)
		}
		return nil, errors.Join(err, closing)
	}
	return d, nil
}

// open opens Badger.
func (d *DB) open(b badger.Options, crashed bool) (err error) {
	f := found{}
	if !d.readOnly {
		if f, err = prepare(d.dir, crashed); err != nil {
			return err
		}
		// marked, so that a crash between the steps is seen
		if err = errors.Join(makeDiscards(d.dir), storedir.MarkWriter(d.dir)); err == nil {
			err = f.settle(d.dir)
		}
	}
	if err == nil {
		d.db, err = badger.OpenManaged(b)
	}
	if err == nil {
		d.last.Store(f.last)
		d.flushes.tables = f.tables
		return nil
	}
	if !storedir.HasLocks && strings.Contains(err.Error(), badgerLocked) {
		return storedir.NewLockedError(d.dir, 0)
	}
	err = fmt.Errorf("%s: %w", d.dir, wrapBadger(err))
	if !crashed && !d.readOnly {
		if showing := showPacks(d.dir); showing != nil { // then it stays marked
			return errors.Join(err, showing)
		}
		err = errors.Join(err, storedir.UnmarkWriter(d.dir))
	}
	return err
}

// leftByCrash says whether a store, which no process has open for writing, was not closed by the last one that had.
// That left its mark, a log, or a pack with the name that it has in an open store.
func leftByCrash(dir string) (bool, error) {
	f, err := list(dir)
	_, lockFile := os.Stat(filepath.Join(dir, storedir.LockFile))
	return len(f.open) > 0 || slices.ContainsFunc(f.logs, isMemTableLog) || lockFile == nil, err
}

// LeftByCrash says whether the database had not been closed when it was opened.
func (d *DB) LeftByCrash() bool { return d.packs.crashed }

// found is what prepare finds.
type found struct {
	last   uint64  // version of the last commit
	tables int     // of level 0, with those that Badger makes of logs
	strays []stray // tables that the manifest does not name, and which may go
}

// prepare makes sure that Badger can open what is in a directory for writing, and changes no more than empty logs.
// The caller has locked the directory.
func prepare(dir string, crashed bool) (f found, err error) {
	if err := storedir.Writable(dir); err != nil {
		return f, fmt.Errorf("%s cannot be written to, only opened read-only: %w", dir, err)
	}
	there, err := list(dir)
	if err == nil {
		err = removeEmptyLogs(there.logs)
	}
	if err != nil {
		return f, err
	}
	m, strays, err := checkNames(dir, crashed)
	if errors.Is(err, fs.ErrNotExist) {
		return f, roomToFlush(dir, SpareRoom) // it is being created
	}
	if err != nil {
		return f, err
	}
	newest := uint64(0)
	for _, id := range m.own() {
		l, err := lookAtTable(dir, id)
		if err != nil {
			return f, err
		}
		newest = max(newest, l.Newest)
	}
	logged, err := readLogs(dir)
	if err != nil {
		return f, err
	}
	f.last, f.tables = max(newest, logged.newest()), m.first()+logged.logs
	if f.strays, err = findStrays(dir, strays, newest, logged); err != nil {
		return f, err
	}
	for _, s := range f.strays {
		if s.newer {
			return f, record.CorruptFile(s.path, "%s does not name it, and some of its records are nowhere else", ManifestName)
		}
	}
	return f, roomToFlush(dir, SpareRoom)
}

// settle makes the directory one that Badger can open.
func (f found) settle(dir string) error {
	for _, s := range f.strays {
		if err := os.Remove(s.path); err != nil {
			return err
		}
	}
	return hidePacks(dir)
}

// makeDiscards makes the file in which Badger counts what its value log could discard: if Badger cannot make it, Badger
// ends the process.
func makeDiscards(dir string) error {
	const size = 1 << 20 // as Badger makes it; it has no blocks on disk
	f, err := os.OpenFile(filepath.Join(dir, "DISCARD"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() == 0 {
		err = f.Truncate(size)
	}
	return errors.Join(err, f.Close())
}

// CrashedError is for a read-only open of what a crash left.
func CrashedError(dir string) error {
	logged, err := loggedBytes(dir)
	if err != nil {
		return err
	}
	free, err := storedir.FreeBytes(dir)
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w: open it once for writing, which replays its log and takes %s on disk (%s are free), "+
		"then read-only", dir, ErrCrashed, storedir.InMebibytes(logged+SpareRoom), storedir.InMebibytes(free))
}
