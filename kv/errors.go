package kv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/graphcleaner/graphcleaner/kv/internal/archive"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// The errors of the package. Each is wrapped with the thing that it is about.
var (
	// When a store is opened or created:

	// ErrNotStore is returned by Open for a directory that holds no store.
	ErrNotStore = lsm.ErrNotStore

	// ErrVersion is returned by Open, Repair and Restore for a store of another format version.
	// A read of a record with an unknown version returns ErrVersion too.
	ErrVersion = record.ErrVersion

	// ErrLocked is returned for a store that another process, or this one, has open, and by a load or a Restore if
	// another runs into the same directory.
	ErrLocked = storedir.ErrLocked

	// ErrForeignFile is returned for a store in which there is a file that no store has: a symbolic link, a named pipe
	// or a device, or, unless the store is only read, a file with hard links. Such a store may come from somebody who
	// wants a file elsewhere changed.
	ErrForeignFile = storedir.ErrForeignFile

	// ErrCrashed is returned by a read-only Open of a store that was not closed: its log must be replayed first,
	// which writes, and needs room on disk for it.
	ErrCrashed = lsm.ErrCrashed

	// When reading:

	// ErrNotFound is returned when a node, edge, matrix or document is not there.
	ErrNotFound = record.ErrNotFound

	// ErrNoColumn is returned for a property name that no column has.
	ErrNoColumn = errors.New("kv: no such column")

	// ErrCorrupt is returned for a damaged record or file of a store: empty, changed, missing, or under another key.
	ErrCorrupt = record.ErrCorrupt

	// ErrShape is returned if a slice does not have the length, or a range not the bounds, that the store has.
	ErrShape = snapshot.ErrShape

	// ErrNotTracked is returned if the store does not know all that changed since a mark.
	ErrNotTracked = errors.New("kv: changes are not known")

	// ErrClosed is returned by everything that is used after its end: a Store after Close, a Tx after Close or
	// outside the closure it was given to, a Bulk after Commit or Abort.
	ErrClosed = record.ErrClosed

	// When writing:

	// ErrBusy is returned by Close while a Bulk is open.
	ErrBusy = errors.New("kv: store is being written")

	// ErrReadOnly is returned by writes to a store opened read-only, and to a Tx that is not an Update's.
	ErrReadOnly = lsm.ErrReadOnly

	// ErrExists is returned if the new thing is there already.
	ErrExists = record.ErrExists

	// ErrInStore is returned if a new store would lie inside another store, which would take it for damage.
	ErrInStore = errors.New("kv: lies in the store")

	// ErrInvalidID is returned for an external node id that is empty, too long, not UTF-8 or has control characters.
	ErrInvalidID = errors.New("kv: invalid node id")

	// ErrInvalidEdge is returned for a self loop, for a bad weight, and for a weight in a graph without weights.
	ErrInvalidEdge = graph.ErrInvalidEdge

	// ErrInvalidName is returned for a column, matrix, space, document or class name that cannot be one.
	ErrInvalidName = errors.New("kv: invalid name")

	// ErrInvalidValue is returned for a value that its column cannot hold.
	ErrInvalidValue = record.ErrInvalidValue

	// ErrIndexed is returned by a write to an indexed column of a store that was opened without Options.OnWrite.
	ErrIndexed = errors.New("kv: column is indexed, and the store was opened without Options.OnWrite")

	// ErrNoSpace is returned if the disk has too little room for a write and for the tables that follow from the
	// write. The write does nothing.
	ErrNoSpace = storedir.ErrNoSpace

	// ErrMoved is returned by writes to a store, and by its Close, if its directory was moved, replaced or deleted
	// since Open. The writes do nothing, and Close leaves the files as they are. All earlier commits are in
	// the directory: a store that is opened where its directory is now goes on from there. What Close has not ended
	// stays in memory until the process ends.
	ErrMoved = storedir.ErrMoved

	// ErrFailed is returned by writes to a store, and by its Close, after the disk failed a write. All earlier commits
	// are on the disk; a store that is closed and opened again goes on from there. If the tables cannot be opened
	// again after a fold, reads return ErrFailed too.
	ErrFailed = lsm.ErrFailed

	// ErrCommitted is returned by Update, Bulk.Commit and Compact if something failed after the commit. The writes
	// have happened.
	ErrCommitted = errors.New("committed")

	// ErrCatalogTooBig is returned if the names of classes and of matrix columns together exceed a transaction: about
	// 1.1 MB. A larger memory budget allows more, except for a Loader.
	ErrCatalogTooBig = errors.New("kv: too many names")

	// ErrTxTooBig is returned when an Update has written more than a transaction can hold.
	ErrTxTooBig = lsm.ErrTxTooBig

	// ErrDuplicateRow is returned when a bulk writer was given a node twice.
	ErrDuplicateRow = errors.New("kv: node given twice")

	// When reading backups:

	// ErrBackup is returned for a file that is no backup, or is cut short or damaged. The error is a *BackupError.
	ErrBackup = archive.ErrDamaged

	// ErrBackupOrder is returned for backups that do not follow one another: each must be of the same store, and made
	// since the one before. The error is a *BackupError.
	ErrBackupOrder = archive.ErrOrder
)

// versionError says that the format of a store is older or newer than this program reads.
func versionError(dir string, version int) error {
	writer := "a newer"
	if version < formatVersion {
		writer = "an older"
	}
	return fmt.Errorf("%s: %w: it is %d, want %d: %s graphcleaner wrote it",
		dir, ErrVersion, version, formatVersion, writer)
}

// A BackupError names the wrong backup file. It is an ErrBackup or an ErrBackupOrder. Its fields are
//
//	File int // from 0
//	Msg  string
//	Err  error // with the place in the file
type BackupError = archive.Error

// log logs what the store did since a time, zero if it took none, or why it failed.
func (s *Store) log(what string, began time.Time, err error, attrs ...any) {
	if s.opt.Logger == nil {
		return
	}
	attrs = append(attrs, "store", s.dir)
	if !began.IsZero() {
		attrs = append(attrs, "duration", time.Since(began))
	}
	level := slog.LevelInfo
	switch {
	case errors.Is(err, ErrCorrupt):
		level = slog.LevelError
	case err != nil:
		level = slog.LevelWarn
	case what == "commit" || what == "sweep":
		level = slog.LevelDebug
	}
	if err != nil {
		attrs = append(attrs, "error", err)
	}
	s.opt.Logger.Log(context.Background(), level, what, attrs...)
}

// damaged logs a record that could not be decoded, and returns err.
func (s *Store) damaged(err error) error {
	if errors.Is(err, ErrCorrupt) {
		s.log("corrupt record", time.Time{}, err)
	}
	return err
}
