package lsm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Options opens a DB.
type Options struct {
	MemoryBudget int64 // bytes that the memtables, indices and filters are sized by
	ReadOnly     bool
	Loading      bool // it is that of a load, durable once it is closed: a crash starts it over
}

// A DB is one of Badger's, in a directory that the caller has locked.
type DB struct {
	dir     string
	db      *badger.DB // nil if it is read without Badger
	crashed bool       // a crash left what was opened
	opened  bool       // OpenPacks has opened the packs

	failure *writeFailure
	disk    storedir.Disk
	output  atomic.Int64  // bytes of entries given to Badger since it was opened
	last    atomic.Uint64 // the version of the last commit, which is its number
	txns    atomic.Int64  // how many transactions there are
	packs   packs

	// Of who holds the writer's lock:
	flushes flushCount
	foldAt  int // tables of level 0 of which the next fold is due
	catalog catalogFile
}

// Open opens the database in a directory, or makes one.
func Open(dir string, opt Options) (d *DB, err error) {
	d = &DB{dir: dir, foldAt: foldAt, packs: packs{now: newPackSet(nil)}}
	if d.crashed, err = leftByCrash(dir); err != nil {
		return nil, err
	}
	if d.crashed && opt.ReadOnly {
		return nil, CrashedError(dir)
	}
	if d.disk, err = storedir.OpenDisk(dir); err != nil {
		return nil, err
	}
	d.packs.disk, d.failure = d.disk, &writeFailure{disk: d.disk}
	if d.catalog, err = readCatalogFile(dir); err == nil {
		err = pack.GuardFaults(func() error {
			if opt.ReadOnly {
				return d.openTables()
			}
			return d.openBadger(opt)
		})
	}
	if err != nil {
		return nil, errors.Join(err, d.packs.close(), d.disk.Close())
	}
	return d, nil
}

// openBadger opens a database for writing.
func (d *DB) openBadger(opt Options) error {
	b, err := badgerOptions(d.dir, opt)
	if err != nil {
		return err
	}
	b.Logger = badgerLog{d.failure}
	f, err := prepare(d.dir, d.crashed)
	if err != nil {
		return err
	}
	// marked, so that a crash between the steps is seen
	if err = errors.Join(makeDiscards(d.dir), storedir.MarkWriter(d.dir)); err == nil {
		err = f.settle(d.dir)
	}
	if err == nil {
		d.db, err = badger.OpenManaged(b)
	}
	if err == nil {
		d.last.Store(f.last)
		d.flushes.tables = f.tables
		return nil
	}
	err = fmt.Errorf("%s: %w", d.dir, wrapBadger(err))
	if d.crashed {
		return err
	}
	return errors.Join(err, markClosed(d.dir))
}

// leftByCrash says whether a store, which no process has open for writing, was not closed by the last one that had.
// That left its mark, a log, or a pack with the name that it has in an open store.
func leftByCrash(dir string) (bool, error) {
	f, err := list(dir)
	_, lockFile := os.Stat(filepath.Join(dir, storedir.LockFile))
	return len(f.open) > 0 || slices.ContainsFunc(f.logs, isMemTableLog) || lockFile == nil, err
}

// LeftByCrash says whether the database had not been closed when it was opened.
func (d *DB) LeftByCrash() bool { return d.crashed }

// markClosed leaves the directory of a database that Badger has closed as one that was closed properly.
func markClosed(dir string) error {
	err := showPacks(dir)
	if err == nil {
		err = storedir.AlignModes(dir)
	}
	if err == nil {
		err = storedir.UnmarkWriter(dir)
	}
	return err
}

// found holds the findings of prepare.
type found struct {
	manifest
	closed []uint64 // packs with names of tables
	last   uint64   // version of the last commit
	tabled uint64   // the newest version of the tables
	tables int      // of level 0, with those that Badger makes of logs
	strays []stray  // tables that the manifest does not name, and which may go
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
	f.manifest, f.closed = m, there.closed
	for _, id := range m.own() {
		l, err := new(catalogFile).look(id, table.NewFilename(id, dir))
		if err != nil {
			return f, err
		}
		f.tabled = max(f.tabled, l.Newest)
		if m.levels[id] == 0 {
			f.tables++
		}
	}
	logged, err := readLogs(dir)
	if err != nil {
		return f, err
	}
	f.last = max(f.tabled, logged.last())
	f.tables += logged.logs
	if f.strays, err = findStrays(dir, strays, f.tabled, logged); err != nil {
		return f, err
	}
	for _, s := range f.strays {
		if s.newer {
			return f, record.CorruptFile(s.path, "%s does not name it, and some of its records are nowhere else", ManifestName)
		}
	}
	if n := logged.lostCommits(f.tabled); n > 0 {
		return f, record.CorruptFile(dir, "after a crash, a log of Badger is damaged or missing: "+
			"of the commits before the last, %d are lost", n)
	}
	return f, roomToFlush(dir, SpareRoom)
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
	return fmt.Errorf("%s: %w: open it once for writing, which replays its log, then read-only", dir, ErrCrashed)
}
