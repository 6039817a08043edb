// Package archive writes the records of a snapshot as one stream, whole or as what has changed since another stream,
// and reads such streams back: what it hands out is what was written, or it says which stream is wrong, and where. It
// knows nothing of the store that the records are of, nor of what they mean.
//
// A stream is
//
//	"graphcleaner backup 2\n"
//	what follows, compressed by zstd
//	the SHA-256 of all before it
//
// What is compressed are msgpack values, each behind its length, an uvarint: a map, the head (the fields of Info that
// have names), and then arrays, the entries, by ascending key:
//
//	key, version, checksum, size
//
// each with the record of so many bytes behind it. The version is the commit that wrote the record, as Badger numbers
// them. If the size is zero the record is kept: it is that of the stream before, which has this checksum. There is an
// entry for every record that the snapshot has, so that the entries of a stream say which records of the one before are
// gone. The last entry has no key; its record is the SHA-256 with which the stream before ends, empty in a full stream.
// Two streams of the same snapshot since the same stream are the same bytes.
package archive

import (
	"errors"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

const (
	magic = "graphcleaner backup 2\n"

	window    = 1 << 20 // bytes in which zstd looks for what is the same
	maxRecord = 4 << 20
	maxValue  = 1 << 17 // bytes of a head or an entry; Badger's limit of keys is less

	// maxSnapshot leaves a store that is restored all the commits it will ever make.
	maxSnapshot = math.MaxInt64 / 2

	// EntryOverhead bounds what a record takes in a stream beside its key and itself, in bytes.
	EntryOverhead = 28

	// contextEvery is how many entries are read between two looks at a context.
	contextEvery = 4096
)

// Errors of streams. They stand at the door of kv, so that their texts begin with its name.
var (
	// ErrDamaged is returned for a file that is no backup, or is cut short or damaged. The error is an *Error.
	ErrDamaged = errors.New("kv: damaged backup")

	// ErrOrder is returned for backups that do not follow one another: each must be of the same store, and made
	// since the one before. The error is an *Error.
	ErrOrder = errors.New("kv: backups do not follow one another")
)

// An Error names the wrong file, and how far it was read. It is an ErrDamaged or an ErrOrder.
type Error struct {
	File   int   // from 0
	Offset int64 // bytes that were read; −1 if what is wrong has no place
	Msg    string
	Err    error // ErrDamaged or ErrOrder
}

func (e *Error) Error() string {
	where := ""
	if e.Offset >= 0 {
		where = fmt.Sprintf(" at byte %d", e.Offset)
	}
	return fmt.Sprintf("backup %d: %v%s: %s", e.File+1, e.Err, where, e.Msg)
}

func (e *Error) Unwrap() error { return e.Err }

func outOfOrder(file int, format string, args ...any) error {
	return &Error{File: file, Offset: -1, Msg: fmt.Sprintf(format, args...), Err: ErrOrder}
}

// An Info says what is in a backup.
type Info struct {
	Store    string            `msgpack:"store"`    // ID of the store
	Format   int               `msgpack:"format"`   // of the store
	Snapshot uint64            `msgpack:"snapshot"` // counts the commits of the store; a later one is greater
	Next     record.Generation `msgpack:"next"`     // the first that is not in it: a record in a pack does not tell its commit
	Full     bool              `msgpack:"full"`     // it needs no other backup
	After    uint64            `msgpack:"after"`    // Snapshot of the backup that it goes on from, if it is not full
	Records  int64             `msgpack:"records"`  // of the snapshot
	Bytes    int64             `msgpack:"bytes"`    // of their keys and records

	ID      string `msgpack:"-"` // its checksum: two backups with the same ID are the same bytes
	Since   string `msgpack:"-"` // ID of the backup that it goes on from, if it is not full
	Changed int64  `msgpack:"-"` // records that are in this file; the others are kept from the backup before
	Stored  int64  `msgpack:"-"` // bytes of the file
}

// An entry is a record of a snapshot.
type entry struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // msgpack looks for it

	Key     []byte
	Version uint64
	Sum     uint32 // of a record that is kept
	Size    uint32 // of the record; 0 if it is kept
}
