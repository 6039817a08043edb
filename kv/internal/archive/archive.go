// Package archive writes the records of a snapshot as one stream, whole or as what has changed since another stream, and reads
// such streams back: what it hands out is what was written, or it says which stream is wrong, and where. It knows nothing of the
// store that the records are of, nor of what they mean.
//
// A stream is
//
//	"graphcleaner backup\n"
//	a frame of kind head
//	frames of kind records
//	a frame of kind end, with which the file ends
//
// and a frame
//
//	kind      byte
//	stored    uint32  bytes of the body as it is stored, this and the next big-endian
//	raw       uint32  bytes of the body
//	body              of records compressed by zstd; of head and end a msgpack map, as it is
//	checksum  uint32  CRC-32C of the frame up to here
//
// A body of records is one entry after the other, by ascending key over the whole file:
//
//	shared    uvarint  bytes that the key shares with the one before; 0 for the first of a frame
//	rest      uvarint  bytes of the key that follow
//	the rest of the key
//	version   uvarint  the commit that wrote the record, as Badger numbers them
//	length    uvarint  of the record; 0 if it is kept: it is that of the backup before
//	the record, or if it is kept its checksum
//
// There is an entry for every record that the snapshot has, so that the entries of a backup say which records of the one
// before are gone. Two backups of the same snapshot since the same backup are the same bytes.
package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

const (
	magic         = "graphcleaner backup\n"
	streamVersion = 1

	frameHead    = 'h'
	frameRecords = 'r'
	frameEnd     = 'e'

	frameHeader   = 9        // bytes before the body
	frameTarget   = 1 << 20  // bytes of records at which a frame ends
	maxFrame      = 4 << 20  // bytes of a body, compressed or not
	maxSmallFrame = 16 << 10 // of head or end
	maxKey        = 1 << 15  // Badger's own limit is not much above

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

// An Error names the wrong file and the place in it. It is an ErrDamaged or an ErrOrder.
type Error struct {
	File   int   // from 0
	Offset int64 // bytes from its beginning; −1 if what is wrong has no place
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
	Records  int64  `msgpack:"records"` // of the snapshot
	Bytes    int64  `msgpack:"bytes"`   // of their keys and records
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

func (h Head) info(end streamEnd, size int64) Info {
	return Info{
		ID: fmt.Sprintf("%x", end.Digest), Store: h.Store, Snapshot: h.Snapshot, Full: h.Full, Since: fmt.Sprintf("%x", end.Base),
		Records: h.Records, Bytes: h.Bytes, Changed: end.Changed, Stored: size,
	}
}

// A streamEnd says what came before it.
type streamEnd struct {
	Records int64  `msgpack:"records"`
	Changed int64  `msgpack:"changed"` // those that are not kept
	Base    []byte `msgpack:"base"`    // Digest of the stream before; nil of a full one
	Digest  []byte `msgpack:"digest"`  // SHA-256 of the stream up to the frame of this, and of Base
}

// An entry is a record of a snapshot.
type entry struct {
	key     []byte
	version uint64
	sum     uint32 // of the record
	record  []byte // nil if it is kept
}

// A reader reads the entries of a stream. It trusts nothing: what it allocates is bounded, whatever the file says.
type reader struct {
	r      *bufio.Reader
	file   int // which of several
	zstd   *zstd.Decoder
	digest hash.Hash
	head   Head
	end    streamEnd
	offset int64 // of what is read next

	frame, raw []byte
	rest       []byte // of raw, to be parsed
	first      bool   // rest begins a frame
	entry      entry
	key        []byte // of entry
	done       bool
	count      streamEnd // so far
}

func newReader(r io.Reader, file int) (*reader, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxFrame), zstd.WithDecoderMaxWindow(maxFrame))
	if err != nil {
		return nil, err
	}
	b := &reader{r: bufio.NewReaderSize(r, 256<<10), file: file, zstd: decoder, digest: sha256.New()}
	if err := b.open(); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *reader) close() { b.zstd.Close() }

// fail is the error of what is read at an offset.
func (b *reader) fail(offset int64, format string, args ...any) error {
	return &Error{File: b.file, Offset: offset, Msg: fmt.Sprintf(format, args...), Err: ErrDamaged}
}

func (b *reader) open() error {
	first := make([]byte, len(magic))
	if err := b.read(first); err != nil {
		return err
	}
	if string(first) != magic {
		return b.fail(0, "it does not begin like one")
	}
	b.digest.Write(first)
	kind, body, err := b.readFrame()
	if err != nil {
		return err
	}
	b.digest.Write(b.frame)
	if kind != frameHead {
		return b.fail(int64(len(magic)), "the first frame is no head")
	}
	if err := msgpack.Unmarshal(body, &b.head); err != nil {
		return b.fail(int64(len(magic)), "the head: %v", err)
	}
	h := b.head
	switch {
	case h.Version != streamVersion:
		return b.fail(int64(len(magic)), "it has version %d of backups, want %d: another graphcleaner wrote it",
			h.Version, streamVersion)
	case h.Format < 1 || h.Snapshot > maxSnapshot || h.Since > h.Snapshot || h.Records < 0 || h.Bytes < 0:
		return b.fail(int64(len(magic)), "the head contradicts itself")
	}
	return nil
}

// read fills p. What is not there is a file that is cut short.
func (b *reader) read(p []byte) error {
	n, err := io.ReadFull(b.r, p)
	b.offset += int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return b.fail(b.offset, "it is cut short")
	}
	return err
}

// readFrame reads a frame into memory that the next one takes. Its body may be compressed.
func (b *reader) readFrame() (kind byte, body []byte, err error) {
	begin := b.offset
	b.frame = grown(b.frame, frameHeader)
	if err := b.read(b.frame); err != nil {
		return 0, nil, err
	}
	kind = b.frame[0]
	length, raw := binary.BigEndian.Uint32(b.frame[1:]), binary.BigEndian.Uint32(b.frame[5:])
	most := uint32(maxSmallFrame)
	switch {
	case kind == frameRecords:
		most = maxFrame
	case kind != frameHead && kind != frameEnd:
		return 0, nil, b.fail(begin, "there is no frame of kind %#02x", kind)
	case length != raw:
		return 0, nil, b.fail(begin, "a frame of %d bytes is said to be %d long", length, raw)
	}
	if length > most || raw > most || raw == 0 {
		return 0, nil, b.fail(begin, "a frame says that it has %d bytes for %d, want at most %d", length, raw, most)
	}
	b.frame = grown(b.frame, frameHeader+int(length)+4)
	if err := b.read(b.frame[frameHeader:]); err != nil {
		return 0, nil, err
	}
	body = b.frame[frameHeader : frameHeader+length]
	if crc32c.Of(b.frame[:frameHeader+length]) != binary.BigEndian.Uint32(b.frame[frameHeader+length:]) {
		return 0, nil, b.fail(begin, "the checksum of a frame does not match")
	}
	if kind != frameRecords {
		return kind, body, nil
	}
	b.raw = grown(b.raw, int(raw))
	b.raw, err = b.zstd.DecodeAll(body, b.raw[:0])
	if err != nil {
		return 0, nil, b.fail(begin, "a frame cannot be decompressed: %v", err)
	}
	if len(b.raw) != int(raw) {
		return 0, nil, b.fail(begin, "a frame has %d bytes, want %d", len(b.raw), raw)
	}
	return kind, b.raw, nil
}

// grown is b with a length, and what it holds.
func grown(b []byte, length int) []byte {
	if cap(b) < length {
		b = append(make([]byte, 0, length), b...)
	}
	return b[:length]
}

// next reads the next entry into b.entry, borrowed until the one after; false at the end of a file that is whole.
func (b *reader) next() (bool, error) {
	for len(b.rest) == 0 {
		if b.done {
			return false, nil
		}
		begin := b.offset
		kind, body, err := b.readFrame()
		switch {
		case err != nil:
			return false, err
		case kind == frameHead:
			return false, b.fail(begin, "there is a second head")
		case kind == frameEnd:
			if err := b.readEnd(begin, body); err != nil {
				return false, err
			}
			continue
		}
		b.digest.Write(b.frame)
		b.rest, b.first = body, true
	}
	if err := b.parse(); err != nil {
		return false, err
	}
	return true, nil
}

// parse takes an entry off b.rest.
func (b *reader) parse() error {
	r := codec.Reader{Rest: b.rest}
	shared := r.Uvarint(maxKey)
	rest := r.Bytes(int(r.Uvarint(maxKey)))
	version := r.Uvarint(maxSnapshot)
	length := r.Uvarint(maxFrame)
	value, sum := []byte(nil), uint32(0)
	if length == 0 {
		if checksum := r.Bytes(4); !r.Failed {
			sum = binary.BigEndian.Uint32(checksum)
		}
	} else {
		value = r.Bytes(int(length))
	}
	last := b.entry.key
	switch {
	case r.Failed || shared > uint64(len(last)) || b.first && shared > 0:
		return b.fail(b.offset, "an entry in the frame before is damaged")
	case length == 0 && b.head.Full:
		return b.fail(b.offset, "an entry in the frame before is kept, and there is no backup before this one")
	case version == 0 || version > b.head.Snapshot:
		return b.fail(b.offset, "an entry in the frame before is of version %d, want 1 to %d", version, b.head.Snapshot)
	}
	b.key = append(b.key[:0], last[:shared]...)
	b.key = append(b.key, rest...)
	key := b.key
	if len(key) == 0 || len(key) > maxKey || b.count.Records > 0 && bytes.Compare(key, last) <= 0 {
		return b.fail(b.offset, "the keys in the frame before do not ascend")
	}
	if value != nil {
		if _, err := record.Decode(key, value); err != nil {
			return b.fail(b.offset, "in the frame before: %v", err)
		}
		sum = record.Checksum(value)
		b.count.Changed++
	}
	b.key, b.entry = b.entry.key, entry{key: key, version: version, sum: sum, record: value}
	b.count.Records++
	b.rest, b.first = r.Rest, false
	return nil
}

// readEnd compares what was read with what the end says.
func (b *reader) readEnd(begin int64, body []byte) error {
	if err := msgpack.Unmarshal(body, &b.end); err != nil {
		return b.fail(begin, "the end: %v", err)
	}
	b.digest.Write(b.end.Base)
	b.done = true
	switch digest := b.digest.Sum(nil); {
	case !bytes.Equal(b.end.Digest, digest):
		return b.fail(begin, "the checksum of the whole does not match")
	case b.end.Records != b.count.Records || b.end.Changed != b.count.Changed || b.count.Records != b.head.Records:
		return b.fail(begin, "it has %d records, %d of them changed, want %d and %d of %d",
			b.count.Records, b.count.Changed, b.end.Records, b.end.Changed, b.head.Records)
	case b.head.Full != (len(b.end.Base) == 0):
		return b.fail(begin, "the end contradicts the head")
	}
	switch _, err := b.r.ReadByte(); {
	case err == nil:
		return b.fail(b.offset, "there is more behind the end")
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

// drain reads to the end.
func (b *reader) drain() error {
	for {
		if more, err := b.next(); err != nil || !more {
			return err
		}
	}
}
