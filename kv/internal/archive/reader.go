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

// A Reader reads a stream, with those that it goes on from. It trusts nothing: what it allocates is bounded, whatever
// the file says.
type Reader struct {
	file   int // which of several
	in     sealed
	zstd   *zstd.Decoder
	r      *bufio.Reader // what is compressed
	value  []byte        // memory of a head or an entry
	info   Info          // complete once all was read
	before *Reader       // nil if the stream is full, or is read without the one before

	entry  entry
	memory []byte // of the record
	record []byte // empty if the record is kept, and read without the stream before
	last   []byte // key of the entry before
	count  int64  // entries so far
	ended  bool
}

// Open reads what streams begin with, a full one and those that follow it. The Reader is of the last. It must be
// closed.
func Open(files []io.Reader) (last *Reader, err error) {
	if len(files) == 0 {
		return nil, fmt.Errorf("%w: there is none", ErrOrder)
	}
	for i, file := range files {
		r, err := newReader(file, i, last)
		if err == nil {
			last = r
			err = r.checkOrder()
		}
		if err != nil {
			last.Close()
			return nil, err
		}
	}
	return last, nil
}

func newReader(file io.Reader, number int, before *Reader) (*Reader, error) {
	b := &Reader{file: number, before: before}
	b.in = sealed{r: bufio.NewReaderSize(file, 2*readSize), digest: sha256.New()}
	first := make([]byte, len(magic))
	if _, err := io.ReadFull(&b.in, first); b.in.failed != nil {
		return nil, b.in.failed
	} else if err != nil || string(first) != magic {
		b.in.offset = 0
		return nil, b.damaged("it does not begin like one of this version")
	}
	var err error
	b.zstd, err = zstd.NewReader(&b.in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, b.broken(err)
	}
	b.r = bufio.NewReader(b.zstd)
	if err = b.read(&b.info); err == nil && b.info.Snapshot > maxSnapshot {
		err = b.damaged("it is of commit %d, want at most %d", b.info.Snapshot, uint64(maxSnapshot))
	}
	if err != nil {
		b.zstd.Close()
		return nil, err
	}
	return b, nil
}

// checkOrder looks whether the stream may follow the one before.
func (b *Reader) checkOrder() error {
	switch h := b.info; {
	case b.before == nil && !h.Full:
		return outOfOrder(b.file, "it goes on from another, and is the first")
	case b.before == nil:
		return nil
	case h.Full:
		return outOfOrder(b.file, "it is a full backup: want it first, or alone")
	case h.Store != b.before.info.Store:
		return outOfOrder(b.file, "it is of the store %s, and the one before of %s", h.Store, b.before.info.Store)
	case h.After != b.before.info.Snapshot:
		return outOfOrder(b.file, "it was made since commit %d, and the one before is of commit %d", h.After,
			b.before.info.Snapshot)
	}
	return nil
}

// Close gives the memory back.
func (b *Reader) Close() {
	if b != nil {
		b.zstd.Close()
		b.before.Close()
	}
}

// Info is what the stream says of itself. Once Read has returned, it is complete.
func (b *Reader) Info() Info { return b.info }

// Fail is the error that the stream is damaged, somewhere.
func (b *Reader) Fail(format string, args ...any) error {
	return &Error{File: b.file, Offset: -1, Msg: fmt.Sprintf(format, args...), Err: ErrDamaged}
}

// damaged is the error of what was just read.
func (b *Reader) damaged(format string, args ...any) error {
	return &Error{File: b.file, Offset: b.in.offset, Msg: fmt.Sprintf(format, args...), Err: ErrDamaged}
}

// broken is the error of a read that failed.
func (b *Reader) broken(err error) error {
	switch {
	case b.in.failed != nil:
		return b.in.failed
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return b.damaged("it is cut short")
	}
	return b.damaged("%v", err)
}

// read reads a value.
func (b *Reader) read(v any) error {
	length, err := binary.ReadUvarint(b.r)
	if err != nil {
		return b.broken(err)
	}
	if b.value, err = b.take(b.value, length, maxValue); err != nil {
		return err
	}
	if err := msgpack.Unmarshal(b.value, v); err != nil {
		return b.damaged("%v", err)
	}
	return nil
}

// take reads bytes into memory.
func (b *Reader) take(memory []byte, length, most uint64) ([]byte, error) {
	if length > most {
		return nil, b.damaged("a part has %d bytes, want at most %d", length, most)
	}
	memory = slices.Grow(memory[:0], int(length))[:length]
	if _, err := io.ReadFull(b.r, memory); err != nil {
		return nil, b.broken(err)
	}
	return memory, nil
}

// Read calls use with every record that the stream has, ascending, whole and borrowed; then it makes sure that all
// streams are whole and follow one another. progress, which may be nil, counts bytes of records.
func (b *Reader) Read(
	ctx context.Context, progress func(stage string, done, total int64),
	use func(key, record []byte, version uint64) error,
) (Info, error) {
	done := int64(0)
	for {
		if progress != nil && b.count%contextEvery == 0 {
			progress("restore", done, b.info.Bytes)
		}
		if err := b.next(ctx); err != nil {
			return Info{}, err
		}
		// The disk was asked for room for so many bytes.
		if done += int64(len(b.entry.Key) + len(b.record)); done > b.info.Bytes || b.ended && done < b.info.Bytes {
			return Info{}, b.damaged("its records have %d bytes or more, want %d", done, b.info.Bytes)
		}
		if b.ended {
			return b.info, ctx.Err()
		}
		if err := use(b.entry.Key, b.record, b.entry.Version); err != nil {
			return Info{}, err
		}
	}
}

// next reads the next entry, borrowed until the one after it, with its record. Behind the last entry it makes sure that
// the stream ends and follows the one before.
func (b *Reader) next(ctx context.Context) error {
	if b.count%contextEvery == 0 && ctx.Err() != nil {
		return ctx.Err()
	}
	e := &b.entry
	b.last = append(b.last[:0], e.Key...)
	err := b.read(e)
	if err == nil {
		b.memory, err = b.take(b.memory, uint64(e.Size), maxRecord)
	}
	if err != nil {
		return err
	}
	b.record = b.memory
	if len(e.Key) == 0 {
		return b.end(ctx)
	}
	b.count++
	switch {
	case bytes.Compare(e.Key, b.last) <= 0:
		return b.damaged("the keys do not ascend")
	case e.Version == 0 || e.Version > b.info.Snapshot:
		return b.damaged("an entry is of version %d, want 1 to %d", e.Version, b.info.Snapshot)
	case e.Size > 0:
		if _, err := record.Decode(e.Key, b.record); err != nil {
			return b.damaged("%v", err)
		}
		e.Sum = record.Checksum(b.record)
		b.info.Changed++
	case b.info.Full:
		return b.damaged("an entry is kept, and there is no backup before this one")
	case b.before != nil:
		switch kept, err := b.before.has(ctx, e.Key, e.Version, e.Sum); {
		case err != nil:
			return err
		case !kept:
			return outOfOrder(b.file, "%s is kept from the one before, which has another or none", record.Describe(e.Key))
		}
		b.record = b.before.record
	}
	return nil
}

// has goes on to the first entry whose key is not before one, and reports whether it is of that key, version and
// checksum.
func (b *Reader) has(ctx context.Context, key []byte, version uint64, sum uint32) (bool, error) {
	for !b.ended && bytes.Compare(b.entry.Key, key) < 0 {
		if err := b.next(ctx); err != nil {
			return false, err
		}
	}
	return bytes.Equal(b.entry.Key, key) && b.entry.Version == version && b.entry.Sum == sum, nil
}

// end is next behind the last entry.
func (b *Reader) end(ctx context.Context) error {
	b.ended = true
	base := b.record
	b.record = nil
	switch _, err := b.r.ReadByte(); {
	case err == nil:
		return b.damaged("there is more behind the end")
	case !errors.Is(err, io.EOF):
		return b.broken(err)
	case b.count != b.info.Records || b.info.Full != (len(base) == 0):
		return b.damaged("the end contradicts the head")
	}
	b.info.ID, b.info.Since = fmt.Sprintf("%x", b.in.sum), fmt.Sprintf("%x", base)
	b.info.Stored = b.in.offset + sha256.Size
	if b.before == nil {
		return nil
	}
	if err := b.before.drain(ctx); err != nil {
		return err
	}
	if !bytes.Equal(base, b.before.in.sum) {
		return outOfOrder(b.file, "it was made since another backup than the one before")
	}
	return nil
}

// drain goes on to the end.
func (b *Reader) drain(ctx context.Context) (err error) {
	for err == nil && !b.ended {
		err = b.next(ctx)
	}
	return err
}
