package lsm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Badger makes tables of memtables in the background. If that fails it tells only its log, and tries again for ever.
// Close waits for it, and the manifest may go on naming the table, which is removed. So the first such failure ends
// the writing. The store refuses more (ErrFailed), reads go on, and Close leaves a store that was not closed
// properly: what was committed is in the logs, and the manifest names the tables that are there. Opening it again for
// writing goes on from that.

// Badger makes, renames and removes files by their paths. If the path of the directory leads to another one by now,
// these files would be those of another store. That is a failure too (ErrMoved), and Close does not even close Badger.

// A writeFailure is the first write in the background that failed; nil inside as long as none did.
type writeFailure struct {
	disk    storedir.Disk
	flushes atomic.Int64 // memtables that were closed to become tables since Badger was opened
	first   atomic.Pointer[error]
}

func (f *writeFailure) set(err error) { f.first.CompareAndSwap(nil, &err) }

// err is an ErrFailed if a write failed, and an ErrMoved if the directory was moved before one did.
func (f *writeFailure) err() error {
	if f.first.Load() == nil {
		if err := f.disk.CheckPlace(); err != nil {
			f.set(err)
		}
	}
	err := f.first.Load()
	switch {
	case err == nil:
		return nil
	case errors.Is(*err, storedir.ErrMoved):
		return *err
	}
	return fmt.Errorf("%w: %w", ErrFailed, *err)
}

// isMoved reports whether the directory was moved before a write failed.
func (f *writeFailure) isMoved() bool { return errors.Is(f.err(), storedir.ErrMoved) }

// flushWait is between two looks at whether a memtable has become a table.
const flushWait = 2 * time.Millisecond

// flushCount tells how many memtables wait to become tables. Badger never waits for one of them (badgerOptions): after
// a failure nobody could end that. So whoever writes waits before.
type flushCount struct {
	tables int   // of level 0 that there were when Badger was opened, or came of the logs of a crash
	ended  int64 // memtables that became tables since
}

// waiting is how many memtables are closed and no table yet. The caller holds the writer's lock.
func (d *DB) waiting() int64 {
	closed := d.failure.flushes.Load()
	if closed > d.flushes.ended {
		d.flushes.ended = int64(d.db.Levels()[0].NumTables - d.flushes.tables)
	}
	return closed - d.flushes.ended
}

// awaitFlush waits until there is room in memory for another transaction, which may close a memtable, or returns an
// ErrFailed. The caller holds the writer's lock.
func (d *DB) awaitFlush() error {
	for {
		if err := d.failure.err(); err != nil || d.waiting() < waitingMemTables {
			return err
		}
		// Each has a log. There may be other logs, which readers keep.
		if logs, err := memTableLogs(d.dir); err != nil || len(logs) <= waitingMemTables {
			return err
		}
		time.Sleep(flushWait)
	}
}

// Close closes Badger. If a write failed the manifest is made to name the tables that are there. Then, or if there
// are tables that could not be removed, the database is left as one that crashed, so that the next open for writing
// removes them. If the directory was moved, all stays as it is, and what Badger has in memory too: closing Badger
// would make tables, and remove logs, by their paths.
func (d *DB) Close() error {
	if d.db == nil {
		return errors.Join(d.packs.close(), d.disk.Close())
	}
	if d.failure.isMoved() {
		return errors.Join(d.failure.err(), d.disk.Close())
	}
	err := wrapBadger(d.db.Close())
	failure := d.failure.err()
	if errors.Is(failure, storedir.ErrMoved) {
		return errors.Join(failure, d.disk.Close())
	}
	err = errors.Join(err, d.packs.close(), d.disk.Close())
	switch {
	case failure != nil:
		return errors.Join(fmt.Errorf("%s: %w", d.dir, failure), err, nameWhatIsThere(d.dir))
	case err != nil || d.crashed && !d.opened: // of what a crash left, it is not known which packs there are to be
		return err
	}
	return markClosed(d.dir)
}

// nameWhatIsThere leaves tables out of the manifest that are missing: they were never finished.
func nameWhatIsThere(dir string) error {
	m, err := readManifest(dir)
	if err != nil {
		return err
	}
	missing := false
	for _, id := range m.own() {
		if _, err := os.Stat(table.NewFilename(id, dir)); errors.Is(err, fs.ErrNotExist) {
			delete(m.levels, id)
			missing = true
		}
	}
	if !missing {
		return nil
	}
	return m.write(dir, nil)
}
