// Package archive writes the records of a snapshot as one stream, whole or as what has changed since another stream,
// and reads such streams back. It hands out only written records, or says which stream is wrong, and where. It
// knows nothing of the store that the records are of, nor of what they mean.
//
// A stream is
//
//	"graphcleaner backup 3\n"
//	parts, each after its length, a big-endian uint32, and compressed by zstd, which adds a checksum
//	the SHA-256 of all before it
//
// The first part is the head: a map in msgpack, of the fields of Info that have names. The others are entries, by
// ascending key:
//
//	length of the key     uint16
//	length of the record  uint32
//	version               uint64
//	checksum              uint32
//	the key, the record
//
// Numbers are big-endian. The version is the commit that wrote the record, as Badger numbers them. If the record is
// empty it is kept: it is that of the stream before, which has this checksum. There is an entry for every record that
// the snapshot has, so that the entries of a stream say which records of the one before are gone. The last entry has
// no key; its record is the SHA-256 with which the stream before ends, empty in a full stream. Two streams of the same
// snapshot since the same stream are the same bytes.
package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

const (
	magic = "graphcleaner backup 3\n"

	partBytes = 1 << 20 // of the entries in a part, except for the last of them
	maxRecord = 4 << 20
	maxPart   = partBytes + maxRecord + 1<<17

	// maxSnapshot leaves a store that is restored all the commits it will ever make.
	maxSnapshot = math.MaxInt64 / 2

	// EntryOverhead is the size of a record in a stream beside its key and itself, in bytes.
	EntryOverhead = 2 + 4 + 8 + 4
)

// Errors of streams. They are kv.ErrBackup and kv.ErrBackupOrder.
var (
	ErrDamaged = errors.New("kv: damaged backup")
	ErrOrder   = errors.New("kv: backups do not follow one another")
)

// An Error is a kv.BackupError.
type Error struct {
	File int // from 0
	Msg  string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("backup %d: %v: %s", e.File+1, e.Err, e.Msg) }
func (e *Error) Unwrap() error { return e.Err }

func outOfOrder(file int, format string, args ...any) error {
	return &Error{file, fmt.Sprintf(format, args...), ErrOrder}
}

// An Info is a kv.BackupInfo.
type Info struct {
	Store    string `msgpack:"store"`    // ID of the store
	Format   int    `msgpack:"format"`   // of the store
	Snapshot uint64 `msgpack:"snapshot"` // counts the commits of the store; a later one is greater
	// the first that is not in it: a record in a pack does not tell its commit
	Next    record.Generation `msgpack:"next"`
	Full    bool              `msgpack:"full"`    // it needs no other backup
	After   uint64            `msgpack:"after"`   // Snapshot of the backup that it goes on from, if it is not full
	Records int64             `msgpack:"records"` // of the snapshot
	Bytes   int64             `msgpack:"bytes"`   // of their keys and records

	ID      string `msgpack:"-"` // its checksum: two backups with the same ID are the same bytes
	Since   string `msgpack:"-"` // ID of the backup that it goes on from, if it is not full
	Changed int64  `msgpack:"-"` // records that are in this file; the others are kept from the backup before
	Stored  int64  `msgpack:"-"` // bytes of the file
}

// An entry is a record of a snapshot.
type entry struct {
	key     []byte
	version uint64
	sum     uint32
	record  []byte // empty if it is kept
}

// append appends the entry to a part.
func (e *entry) append(part []byte) []byte {
	part = binary.BigEndian.AppendUint16(part, uint16(len(e.key)))
	part = binary.BigEndian.AppendUint32(part, uint32(len(e.record)))
	part = binary.BigEndian.AppendUint64(part, e.version)
	part = binary.BigEndian.AppendUint32(part, e.sum)
	return append(append(part, e.key...), e.record...)
}

// take takes the next entry from a part, which keeps its bytes, and says whether there is a whole one.
func (e *entry) take(part *[]byte) bool {
	b := *part
	if len(b) < EntryOverhead {
		return false
	}
	key := EntryOverhead + int(binary.BigEndian.Uint16(b))
	end := key + int(binary.BigEndian.Uint32(b[2:]))
	if len(b) < end {
		return false
	}
	*e = entry{b[EntryOverhead:key], binary.BigEndian.Uint64(b[6:]), binary.BigEndian.Uint32(b[14:]), b[key:end]}
	*part = b[end:]
	return true
}
