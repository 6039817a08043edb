// Package record defines the form of everything that a store keeps: keys, the envelope of a body with its checksum,
// and the parts of a body that is too large for one record. It knows neither the meaning of bodies nor the place of
// records.
package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
)

// Every value in the store is one msgpack record, an array of three:
//
//	[version uint8, checksum uint32, body bin]
//
//	0x93  version  0xce c c c c  0xc4|0xc5|0xc6 length  body …
//
// The checksum is the CRC-32C of the key, the version and everything after the checksum, so that a record is damaged
// also when it turns up under a key it was not written to.
const recordVersion = 1

// deletionVersion is the version of a record that says that its key was deleted. Its body is empty.
const deletionVersion = 0

const (
	msgpackArray3 = 0x93
	msgpackUint32 = 0xce
	msgpackBin8   = 0xc4
	msgpackBin16  = 0xc5
	msgpackBin32  = 0xc6

	recordHeader = 7 // bytes before the bin
)

// Errors of records. kv has them, and says what they mean.
var (
	ErrCorrupt      = errors.New("kv: corrupt record")
	ErrNotFound     = errors.New("kv: not found")
	ErrExists       = errors.New("kv: exists already")
	ErrClosed       = errors.New("kv: closed")
	ErrVersion      = errors.New("kv: unknown format version")
	ErrInvalidValue = errors.New("kv: invalid value")
)

// ContextEvery is the number of records, nodes or edges between two looks at a context, and two reports of progress.
const ContextEvery = 1 << 12

// Encode makes the record of a body under a key, in memory of its own.
func Encode(key, body []byte) []byte {
	return Append(make([]byte, 0, recordHeader+5+len(body)), key, body)
}

// Append appends the record of a body under a key to dst.
func Append(dst, key, body []byte) []byte {
	begin := len(dst)
	dst = append(dst, msgpackArray3, recordVersion, msgpackUint32, 0, 0, 0, 0)
	switch {
	case len(body) <= math.MaxUint8:
		dst = append(dst, msgpackBin8, byte(len(body)))
	case len(body) <= math.MaxUint16:
		dst = binary.BigEndian.AppendUint16(append(dst, msgpackBin16), uint16(len(body)))
	default:
		dst = binary.BigEndian.AppendUint32(append(dst, msgpackBin32), uint32(len(body)))
	}
	dst = append(dst, body...)
	record := dst[begin:]
	binary.BigEndian.PutUint32(record[3:], recordChecksum(key, record))
	return dst
}

// Deletion is the record which says that a key was deleted. It hides an earlier record of the key.
func Deletion(key []byte) []byte {
	b := Encode(key, nil)
	b[1] = deletionVersion
	binary.BigEndian.PutUint32(b[3:], recordChecksum(key, b))
	return b
}

// IsDeletion reports whether a value read under key is a Deletion.
func IsDeletion(key, b []byte) bool {
	return len(b) == recordHeader+2 && b[1] == deletionVersion && bytes.Equal(b, Deletion(key))
}

func recordChecksum(key, b []byte) uint32 {
	sum := crc32c.Update(0, key)
	sum = crc32c.Update(sum, b[1:2])
	return crc32c.Update(sum, b[recordHeader:])
}

// Checksum is the checksum in a record that Decode takes.
func Checksum(b []byte) uint32 { return binary.BigEndian.Uint32(b[3:]) }

// Decode checks a record read under key and returns its body, which is a part of b; ErrNotFound of a Deletion.
func Decode(key, b []byte) ([]byte, error) {
	if IsDeletion(key, b) {
		return nil, fmt.Errorf("%s: %w", Describe(key), ErrNotFound)
	}
	if len(b) == 0 {
		return nil, Corrupt(key, "the value is empty")
	}
	if len(b) < recordHeader+2 || b[0] != msgpackArray3 || b[2] != msgpackUint32 {
		return nil, Corrupt(key, "the value is not a record")
	}
	if binary.BigEndian.Uint32(b[3:]) != recordChecksum(key, b) {
		return nil, Corrupt(key, "the checksum does not match")
	}
	if b[1] != recordVersion {
		return nil, fmt.Errorf("%s: %w: record version %d, want %d", Describe(key), ErrVersion, b[1], recordVersion)
	}
	length, body := -1, []byte(nil)
	switch rest := b[recordHeader:]; {
	case rest[0] == msgpackBin8:
		length, body = int(rest[1]), rest[2:]
	case rest[0] == msgpackBin16 && len(rest) >= 3:
		length, body = int(binary.BigEndian.Uint16(rest[1:])), rest[3:]
	case rest[0] == msgpackBin32 && len(rest) >= 5:
		length, body = int(binary.BigEndian.Uint32(rest[1:])), rest[5:]
	}
	if length != len(body) {
		return nil, Corrupt(key, "the length does not match")
	}
	return body, nil
}

// Corrupt is the error of a record under key.
func Corrupt(key []byte, what string) error {
	return fmt.Errorf("%s: %w: %s", Describe(key), ErrCorrupt, what)
}

// CorruptFile is the error of a file of a store.
func CorruptFile(path, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", path, ErrCorrupt, fmt.Sprintf(format, args...))
}

// A Record is a key with the body of its record, as a scan yields it.
type Record struct{ Key, Body []byte }

// A Sum is made of the checksums of the records that were written of one generation. The number of a generation is
// given out again if files of the store as it once was are put back; the sum then tells the two apart. It is zero of
// what a load wrote, whose store has an ID of its own.
type Sum uint64

// Add adds a record, as the 64-bit FNV-1a hash does.
func (s Sum) Add(record []byte) Sum {
	return (s ^ Sum(Checksum(record))) * 1099511628211
}
