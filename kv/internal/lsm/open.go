package lsm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// CheckManifest returns ErrNotStore for a directory that has no manifest, and ErrCorrupt if tables say that it
// had one.
func CheckManifest(dir string) error {
	path := filepath.Join(dir, badger.ManifestFilename)
	_, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if _, ok := table.ParseFileID(entry.Name()); ok || strings.HasSuffix(entry.Name(), packSuffix) {
			return record.CorruptFile(path, "it is missing, and %s is there", entry.Name())
		}
	}
	return fmt.Errorf("%s: %w", dir, ErrNotStore)
}

// Names of files that every database has.
const (
	ManifestName    = badger.ManifestFilename
	KeyRegistryName = badger.KeyRegistryFileName
)

// badgerLocked is in Badger's error if another process has the database open. It has no type.
const badgerLocked = "Another process is using this Badger database"

// Options opens a DB.
type Options struct {
	MemoryBudget int64 // bytes that the memtables, indices and filters are sized by
	ReadOnly     bool
	Loading      bool         // it is that of a load, durable once it is closed: a crash starts it over
	Logger       *slog.Logger // logs the messages of Badger, if not nil

	// Reading says whether there is a snapshot that may keep a memtable.
	Reading func() bool
}

// A DB is one of Badger's, in a directory that the caller has locked.
type DB struct {
	dir      string
	readOnly bool
	db       *badger.DB   // nil if tables is not
	opening  sync.RWMutex // held by who opens db anew, and for a moment by who reads with it
	reads    sync.Mutex   // guards readings
	readings map[*reading]struct{}
	tables   *readTables // of a database that is read without Badger
	reading  func() bool

	failure  *writeFailure
	disk     storedir.Disk // zero if Badger only reads
	pinned   int           // logs of memtables that readers keep, as awaitFlush has found; of who holds the writer's lock
	logs     logCount      // of who holds the writer's lock
	output   atomic.Int64  // bytes of entries given to Badger since it was opened
	versions versions
	packs    packs       // of one that is open for writing
	first    int         // tables of level 0 that are not of output, when they were last counted; of who holds the writer's lock
	folded   int         // tables that folds made
	catalog  catalogFile // of who holds the writer's lock
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
	var disk storedir.Disk
	if !opt.ReadOnly {
		if disk, err = storedir.OpenDisk(dir); err != nil {
			return nil, err
		}
		defer func() {
			if opened == nil {
				disk.Close() //nolint:errcheck // it was only asked
			}
		}()
	}
	copied, err := readCatalogFile(dir)
	if err != nil {
		return nil, err
	}
	failure := &writeFailure{disk: disk}
	b.Logger = watchedLog{b.Logger, failure}
	crashed, err := LeftByCrash(dir)
	if err != nil {
		return nil, err
	}
	if storedir.HasLocks {
		if err := guardFaults(func() error { return prepare(dir, crashed) }); err != nil {
			return nil, err
		}
	}
	if !opt.ReadOnly {
		err = errors.Join(makeDiscards(dir), storedir.MarkWriter(dir))
	}
	if err == nil && !opt.ReadOnly { // marked, so that a crash between the steps is seen
		err = guardFaults(func() error { return hidePacks(dir) })
	}
	if err == nil && crashed && storedir.HasLocks { // marked as written to: logs may have been the only mark of the crash
		err = guardFaults(func() error { return removeFlushedLogs(dir) })
	}
	var last uint64
	var named badger.Manifest
	if err == nil {
		last, err = lastVersion(dir)
	}
	if err == nil {
		named, _, err = readManifest(dir) //nolint:errcheck // checkFiles has seen where it is cut off
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // it is being created
		}
	}
	var db *badger.DB
	if err == nil {
		err = guardFaults(func() (err error) {
			db, err = badger.OpenManaged(b)
			return err
		})
	}
	if err != nil {
		if !storedir.HasLocks && strings.Contains(err.Error(), badgerLocked) {
			return nil, storedir.NewLockedError(dir, 0)
		}
		err = fmt.Errorf("%s: %w", dir, wrapBadger(err))
		if !crashed && !opt.ReadOnly {
			if showing := showAllPacks(dir); showing != nil { // then it stays marked
				return nil, errors.Join(err, showing)
			}
			err = errors.Join(err, storedir.UnmarkWriter(dir))
		}
		return nil, err
	}
	d := &DB{
		dir:      dir,
		readOnly: opt.ReadOnly,
		db:       db,
		readings: map[*reading]struct{}{},
		reading:  opt.Reading,
		failure:  failure,
		disk:     disk,
		packs:    packs{dir: dir, now: newPackSet(nil), crashed: crashed},
		catalog:  copied,
	}
	d.versions.last = last
	if !opt.ReadOnly {
		d.first = countFirst(named)
		err = storedir.AlignModes(dir)
	}
	if err != nil {
		crashed, closing := d.Close()
		if closing == nil && !opt.ReadOnly && !crashed {
			closing = storedir.UnmarkWriter(dir)
		}
		return nil, errors.Join(err, closing)
	}
	return d, nil
}

// LeftByCrash says whether a store, which no process has open for writing, was not closed by the last one that had.
func LeftByCrash(dir string) (bool, error) {
	logs, err := memTableLogs(dir)
	_, lockFile := os.Stat(filepath.Join(dir, storedir.LockFile))
	return len(logs) > 0 || lockFile == nil, err
}

// prepare makes sure that Badger can open what is in a directory for writing. The caller has locked that.
func prepare(dir string, crashed bool) error {
	if err := storedir.Writable(dir); err != nil {
		return fmt.Errorf("%s cannot be written to, only opened read-only: %w", dir, err)
	}
	if err := checkPacks(dir); err != nil {
		return err
	}
	if err := removeEmptyLogs(dir); err != nil {
		return err
	}
	_, err := os.Stat(filepath.Join(dir, badger.ManifestFilename))
	if err == nil {
		err = checkFiles(dir, crashed)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil // it is being created
	}
	if err != nil {
		return err
	}
	return roomToOpen(dir)
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

// removeFlushedLogs removes logs of memtables of which each record is in a named table whose checksums match. Badger would make another
// table of what such a log has. If the log is damaged, that is a part of the memtable. The table of the part would have the greater
// number, and share records with that of the whole: a census would take it for what a merge made of the whole, and what it lacks for dropped.
func removeFlushedLogs(dir string) (err error) {
	logs, err := memTableLogs(dir)
	if err != nil || len(logs) == 0 {
		return err
	}
	manifest, _, err := readManifest(dir) //nolint:errcheck // checkFiles has seen where it is cut off
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was being created
	}
	if err != nil {
		return err
	}
	c := &census{}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.addNamed(dir, manifest, []tableSpan{{last: bytes.Repeat([]byte{0xff}, 64)}}); err != nil {
		return err
	}
	for _, path := range logs {
		records, held := 0, true
		err := readLog(path, func(entries iter.Seq[logEntry]) (err error) {
			for e := range entries {
				if !e.hasVersion() {
					continue
				}
				records++
				if held, err = c.holds(e.key); err != nil || !held {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if records > 0 && held {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeEmptyLogs removes logs without a byte. Badger makes, and deletes, a log by way of an empty file, and will not
// open a store that was killed at that moment. The caller holds the directory's lock.
func removeEmptyLogs(dir string) error {
	logs, err := logFiles(dir)
	if err != nil {
		return err
	}
	for _, name := range logs {
		info, err := os.Stat(name)
		if err == nil && info.Size() == 0 {
			err = os.Remove(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
