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

	"github.com/klauspost/compress/zstd"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A sealed reads a file but for the checksum with which it ends. At the end it compares that.
type sealed struct {
	r      *bufio.Reader
	digest hash.Hash
	sum    []byte // the checksum, once all was read
	offset int64  // of what is read next
	failed error  // of the file itself
}

const readSize = 128 << 10

var errSum = errors.New("the checksum of the whole does not match")

func (s *sealed) Read(p []byte) (int, error) {
	ahead, err := s.r.Peek(min(len(p), readSize) + sha256.Size)
	n := len(ahead) - sha256.Size
	switch {
	case n > 0:
		n = copy(p, ahead[:n])
		if _, err := s.r.Discard(n); err != nil {
			return 0, err
		}
		s.digest.Write(p[:n])
		s.offset += int64(n)
		return n, nil
	case !errors.Is(err, io.EOF):
		s.failed = err
		return 0, err
	}
	if s.sum = s.digest.Sum(nil); !bytes.Equal(s.sum, ahead) {
		return 0, errSum
	}
	return 0, io.EOF
}

// A reader reads the entries of a stream. It trusts nothing: what it allocates is bounded, whatever the file says.
type reader struct {
	file int // which of several
	in   sealed
	zstd *zstd.Decoder
	r    *bufio.Reader // what is compressed
	head Head
	base []byte // once all was read

	entry            entry
	key, value       []byte // memory of the next entry
	done             bool
	records, changed int64 // so far
}

func newReader(r io.Reader, file int) (*reader, error) {
	b := &reader{file: file, in: sealed{r: bufio.NewReaderSize(r, 2*readSize), digest: sha256.New()}}
	first, err := b.in.r.Peek(len(magic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(first) != magic {
		return nil, b.fail(0, "it does not begin like one")
	}
	if _, err := io.CopyN(io.Discard, &b.in, int64(len(magic))); err != nil {
		return nil, b.broken(err)
	}
	b.zstd, err = zstd.NewReader(&b.in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, b.broken(err)
	}
	b.r = bufio.NewReader(b.zstd)
	if err := b.readHead(); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *reader) close() { b.zstd.Close() }

// fail is the error of what was read up to an offset.
func (b *reader) fail(offset int64, format string, args ...any) error {
	return &Error{File: b.file, Offset: offset, Msg: fmt.Sprintf(format, args...), Err: ErrDamaged}
}

// wrong is fail of what was just read.
func (b *reader) wrong(format string, args ...any) error { return b.fail(b.in.offset, format, args...) }

// broken is the error of a read that failed.
func (b *reader) broken(err error) error {
	switch {
	case b.in.failed != nil:
		return b.in.failed
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return b.wrong("it is cut short")
	}
	return b.wrong("%v", err)
}

func (b *reader) readHead() error {
	body, err := b.bytes(nil, "the head", maxHead)
	if err != nil {
		return err
	}
	if err := msgpack.Unmarshal(body, &b.head); err != nil {
		return b.wrong("the head: %v", err)
	}
	switch h := b.head; {
	case h.Version != streamVersion:
		return b.wrong("it has version %d of backups, want %d: another graphcleaner wrote it", h.Version, streamVersion)
	case h.Format < 1 || h.Snapshot > maxSnapshot || h.Since > h.Snapshot || h.Records < 0 || h.Bytes < 0:
		return b.wrong("the head contradicts itself")
	}
	return nil
}

func (b *reader) uvarint(what string, most uint64) (uint64, error) {
	x, err := binary.ReadUvarint(b.r)
	if err != nil {
		return 0, b.broken(err)
	}
	if x > most {
		return 0, b.wrong("%s: %d, want at most %d", what, x, most)
	}
	return x, nil
}

// bytes reads bytes behind their length, into memory.
func (b *reader) bytes(memory []byte, what string, most uint64) ([]byte, error) {
	length, err := b.uvarint("the length of "+what, most)
	if err != nil {
		return nil, err
	}
	return b.take(memory, int(length))
}

func (b *reader) take(memory []byte, length int) ([]byte, error) {
	if cap(memory) < length {
		memory = make([]byte, length)
	}
	if _, err := io.ReadFull(b.r, memory[:length]); err != nil {
		return nil, b.broken(err)
	}
	return memory[:length], nil
}

// next reads the next entry into b.entry, borrowed until the one after; false at the end of a file that is whole.
func (b *reader) next() (bool, error) {
	if b.done {
		return false, nil
	}
	key, err := b.bytes(b.key, "a key", maxKey)
	if err != nil {
		return false, err
	}
	last := b.entry.key
	if len(key) == 0 {
		return false, b.readEnd()
	}
	if b.records > 0 && bytes.Compare(key, last) <= 0 {
		return false, b.wrong("the keys do not ascend")
	}
	version, err := b.uvarint("a version", b.head.Snapshot)
	if err != nil {
		return false, err
	}
	value, err := b.bytes(b.value, "a record", maxRecord)
	if err != nil {
		return false, err
	}
	b.entry, b.key = entry{key: key, version: version}, last
	b.records++
	switch {
	case version == 0:
		return false, b.wrong("an entry is of version 0, want 1 to %d", b.head.Snapshot)
	case len(value) > 0:
		if _, err := record.Decode(key, value); err != nil {
			return false, b.wrong("%v", err)
		}
		b.entry.sum, b.entry.record, b.value = record.Checksum(value), value, value
		b.changed++
		return true, nil
	case b.head.Full:
		return false, b.wrong("an entry is kept, and there is no backup before this one")
	}
	var sum [4]byte
	if _, err := b.take(sum[:], len(sum)); err != nil {
		return false, err
	}
	b.entry.sum = binary.BigEndian.Uint32(sum[:])
	return true, nil
}

// readEnd reads what is behind the entries.
func (b *reader) readEnd() (err error) {
	b.done = true
	if b.base, err = b.bytes(nil, "the base", sha256.Size); err != nil {
		return err
	}
	switch _, err := b.r.ReadByte(); {
	case err == nil:
		return b.wrong("there is more behind the end")
	case !errors.Is(err, io.EOF):
		return b.broken(err)
	case b.records != b.head.Records:
		return b.wrong("it has %d records, want %d", b.records, b.head.Records)
	case b.head.Full != (len(b.base) == 0):
		return b.wrong("the end contradicts the head")
	}
	return nil
}

// info is what the stream says, once all was read.
func (b *reader) info() Info {
	return b.head.info(b.in.sum, b.base, b.changed, b.in.offset+sha256.Size)
}
