package lsm

import (
	"errors"
)

// Errors of databases, beside record.ErrCorrupt and storedir.ErrNoSpace. They stand at the door of kv, so that their
// texts begin with its name.
var (
	// ErrNotStore is returned for a directory that holds no database.
	ErrNotStore = errors.New("kv: not a graphcleaner store")

	// ErrCrashed is returned by a read-only Open of what was not closed: its log must be replayed first, which writes, and
	// needs room on disk for it.
	ErrCrashed = errors.New("kv: store was not closed properly")

	// ErrReadOnly is returned by writes of a transaction that reads.
	ErrReadOnly = errors.New("kv: read-only")

	// ErrFailed is returned after the disk failed a write. All earlier commits are on the disk; a database that is closed
	// and opened again goes on from there. If the tables cannot be opened again after a fold, reads return ErrFailed too.
	ErrFailed = errors.New("kv: a write to the disk failed, close the store and open it again")

	// ErrTxTooBig is returned if a transaction has written more than it can hold.
	ErrTxTooBig = errors.New("kv: transaction too big: write less in one Update, or use Store.NewPatch (nodes, " +
		"edges) or Store.Bulk (columns)")
)

// contextEvery is the number of steps between two looks at the context.
const contextEvery = 1 << 12
