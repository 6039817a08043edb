// Package archive writes the records of a snapshot as one stream, whole or as what has changed since another stream,
// and reads such streams back: what it hands out is what was written, or it says which stream is wrong, and where. It
// knows nothing of the store that the records are of, nor of what they mean.
//
// A stream is
//
//	"graphcleaner backup\n"
//	what follows, compressed by zstd
//	the SHA-256 of all before it
//
// and what is compressed
//
//	length   uvarint  of the head
//	the head, a msgpack map
//	one entry after the other, by ascending key
//	0        uvarint
//	length   uvarint  of the base; 0 in a full stream
//	the base: the SHA-256 with which the stream before ends
//
// and an entry
//
//	length   uvarint  of the key
//	the key
//	version  uvarint  the commit that wrote the record, as Badger numbers them
//	length   uvarint  of the record; 0 if it is kept: it is that of the stream before
//	the record, or if it is kept its checksum, uint32 big-endian
//
// There is an entry for every record that the snapshot has, so that the entries of a stream say which records of the
// one before are gone. Two streams of the same snapshot since the same stream are the same bytes.
package archive

import (
	"errors"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

const (
	magic         = "graphcleaner backup\n"
	streamVersion = 1

	window    = 1 << 20 // bytes in which zstd looks for what is the same
	maxHead   = 16 << 10
	maxKey    = 1 << 15 // Badger's own limit is not much above
	maxRecord = 4 << 20

	// maxSnapshot leaves a store that is restored all the commits it will ever make.
	maxSnapshot = math.MaxInt64 / 2

	// EntryOverhead bounds what a record takes in a stream beside its key and itself, in bytes.
	EntryOverhead = 24
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

// A Head says what a stream is of.
type Head struct {
	Version  int    `msgpack:"version"`  // streamVersion
	Format   int    `msgpack:"format"`   // of the store
	Store    string `msgpack:"store"`    // its ID
	Snapshot uint64 `msgpack:"snapshot"` // the last commit that is in it
	Since    uint64 `msgpack:"since"`    // Snapshot of the stream before, if Full is not set
	Full     bool   `msgpack:"full"`
	// the first that it has not: a record in a pack does not tell its commit
	Next    record.Generation `msgpack:"next"`
	Records int64             `msgpack:"records"` // of the snapshot
	Bytes   int64             `msgpack:"bytes"`   // of their keys and records
}

// An Info says what is in a backup.
type Info struct {
	ID       string // its checksum: two backups with the same ID are the same bytes
	Store    string // ID of the store
	Snapshot uint64 // counts the commits of the store; a later one is greater
	Full     bool   // it needs no other backup
	Since    string // ID of the backup that it goes on from, if it is not full

	Records int64 // of the snapshot
	Bytes   int64 // of their keys and records
	Changed int64 // records that are in this file; the others are kept from the backup before
	Stored  int64 // bytes of the file
}

// info is that of a stream with a checksum and a base, of so many bytes.
func (h Head) info(sum, base []byte, changed, size int64) Info {
	return Info{
		ID: fmt.Sprintf("%x", sum), Store: h.Store, Snapshot: h.Snapshot, Full: h.Full, Since: fmt.Sprintf("%x", base),
		Records: h.Records, Bytes: h.Bytes, Changed: changed, Stored: size,
	}
}

// An entry is a record of a snapshot.
type entry struct {
	key     []byte
	version uint64
	sum     uint32 // of the record
	record  []byte // nil if it is kept
}
