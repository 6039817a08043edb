package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"slices"

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

// A reader reads a stream. It trusts nothing: what it allocates is bounded, whatever the file says. What is read
// after an error is zero.
type reader struct {
	file int // which of several
	in   sealed
	zstd *zstd.Decoder
	r    *bufio.Reader // what is compressed
	head Head
	err  error

	base    []byte // once all was read
	changed int64  // entries so far that are not kept
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
	b.zstd, err = zstd.NewReader(&b.in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, b.broken(err)
	}
	b.r = bufio.NewReader(b.zstd)
	if b.readHead(); b.err != nil {
		b.close()
		return nil, b.err
	}
	return b, nil
}

func (b *reader) close() { b.zstd.Close() }

// fail is the error of what was read up to an offset.
func (b *reader) fail(offset int64, format string, args ...any) error {
	return &Error{File: b.file, Offset: offset, Msg: fmt.Sprintf(format, args...), Err: ErrDamaged}
}

// broken is the error of a read that failed.
func (b *reader) broken(err error) error {
	switch {
	case b.in.failed != nil:
		return b.in.failed
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return b.fail(b.in.offset, "it is cut short")
	}
	return b.fail(b.in.offset, "%v", err)
}

// wrong says what is wrong with what was just read, unless there was an error before.
func (b *reader) wrong(format string, args ...any) {
	if b.err == nil {
		b.err = b.fail(b.in.offset, format, args...)
	}
}

func (b *reader) readHead() {
	body := b.bytes(nil, "the head", maxHead)
	if err := msgpack.Unmarshal(body, &b.head); err != nil {
		b.wrong("the head: %v", err)
	}
	switch h := b.head; {
	case h.Version != streamVersion:
		b.wrong("it has version %d of backups, want %d: another graphcleaner wrote it", h.Version, streamVersion)
	case h.Format < 1 || h.Snapshot > maxSnapshot || h.Since > h.Snapshot || h.Records < 0 || h.Bytes < 0:
		b.wrong("the head contradicts itself")
	}
}

func (b *reader) uvarint(what string, most uint64) uint64 {
	if b.err != nil {
		return 0
	}
	x, err := binary.ReadUvarint(b.r)
	if err != nil {
		b.err = b.broken(err)
		return 0
	}
	if x > most {
		b.wrong("%s: %d, want at most %d", what, x, most)
		return 0
	}
	return x
}

// bytes reads bytes behind their length, into memory.
func (b *reader) bytes(memory []byte, what string, most uint64) []byte {
	return b.take(memory, int(b.uvarint("the length of "+what, most)))
}

func (b *reader) take(memory []byte, length int) []byte {
	memory = slices.Grow(memory[:0], length)[:length]
	if b.err == nil {
		if _, err := io.ReadFull(b.r, memory); err != nil {
			b.err = b.broken(err)
		}
	}
	return memory
}

// entries yields all entries, each borrowed until the next, and then makes sure that the stream ends.
func (b *reader) entries(ctx context.Context) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		var key, before, value []byte
		for count := int64(0); b.err == nil; count++ {
			if count%contextEvery == 0 && ctx.Err() != nil {
				b.err = ctx.Err()
				break
			}
			key, before = b.bytes(before, "a key", maxKey), key
			if len(key) == 0 {
				if b.end(count); b.err == nil {
					return
				}
				break
			}
			if count > 0 && bytes.Compare(key, before) <= 0 {
				b.wrong("the keys do not ascend")
			}
			e := entry{key: key, version: b.uvarint("a version", b.head.Snapshot)}
			if e.version == 0 {
				b.wrong("an entry is of version 0, want 1 to %d", b.head.Snapshot)
			}
			if value = b.bytes(value, "a record", maxRecord); len(value) > 0 {
				if _, err := record.Decode(key, value); err != nil {
					b.wrong("%v", err)
					break
				}
				e.sum, e.record = record.Checksum(value), value
				b.changed++
			} else {
				if b.head.Full {
					b.wrong("an entry is kept, and there is no backup before this one")
				}
				e.sum = binary.BigEndian.Uint32(b.take(nil, 4))
			}
			if b.err == nil && !yield(e, nil) {
				return
			}
		}
		yield(entry{}, b.err)
	}
}

// end reads what is behind so many entries.
func (b *reader) end(records int64) {
	b.base = b.bytes(nil, "the base", sha256.Size)
	if b.err != nil {
		return
	}
	switch _, err := b.r.ReadByte(); {
	case err == nil:
		b.wrong("there is more behind the end")
	case !errors.Is(err, io.EOF):
		b.err = b.broken(err)
	case records != b.head.Records:
		b.wrong("it has %d records, want %d", records, b.head.Records)
	case b.head.Full != (len(b.base) == 0):
		b.wrong("the end contradicts the head")
	}
}

// info is what the stream says, once all was read.
func (b *reader) info() Info {
	return b.head.info(b.in.sum, b.base, b.changed, b.in.offset+sha256.Size)
}
