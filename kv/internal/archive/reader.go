package archive

import (
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

// A Reader reads a stream, with those that it goes on from. It trusts nothing: what it allocates is bounded, whatever
// the file says.
type Reader struct {
	file   int // which of several
	in     io.Reader
	digest hash.Hash // of the bytes read
	place  int64     // where the part begins that was read last, or what is after the parts
	offset int64     // how many bytes were read

	zstd   *zstd.Decoder
	packed []byte  // memory of a part
	plain  []byte  // the same, unpacked
	rest   []byte  // bytes of the part that are not read yet
	info   Info    // complete once all was read
	sum    []byte  // the checksum, once all was read
	before *Reader // nil if the stream is full, or is read without the one before

	entry entry  // with the record of the stream before if it is kept, unless the stream is read without that
	last  []byte // key of the entry before
	count int64  // entries so far
	ended bool
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
	b := &Reader{file: number, in: file, digest: sha256.New(), before: before}
	var err error
	b.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPart))
	if err != nil {
		return nil, err
	}
	begin, err := b.take(len(magic))
	if string(begin) != magic && (err == nil || errors.Is(err, ErrDamaged)) {
		err = b.damaged("it does not begin like one of this version")
	}
	if err == nil {
		err = b.readPart()
	}
	if err == nil && msgpack.Unmarshal(b.rest, &b.info) != nil {
		err = b.damaged("its head cannot be read")
	}
	b.rest = nil
	if err == nil && b.info.Snapshot > maxSnapshot {
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

// Info is the stream's description of itself. Once Read has returned, it is complete.
func (b *Reader) Info() Info { return b.info }

// damaged is the error of the part that was read last.
func (b *Reader) damaged(format string, args ...any) error {
	return &Error{b.file, fmt.Sprintf(format, args...), fmt.Errorf("%w at byte %d", ErrDamaged, b.place)}
}

// take reads n bytes of the file, borrowed.
func (b *Reader) take(n int) ([]byte, error) {
	b.packed = slices.Grow(b.packed[:0], n)[:n]
	switch _, err := io.ReadFull(b.in, b.packed); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, b.damaged("it is cut short")
	case err != nil:
		return nil, err
	}
	b.digest.Write(b.packed)
	b.offset += int64(n)
	return b.packed, nil
}

// readPart reads the next part.
func (b *Reader) readPart() error {
	b.place = b.offset
	length, err := b.take(4)
	if err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(length)
	if n > maxPart {
		return b.damaged("a part has %d bytes, want at most %d", n, maxPart)
	}
	packed, err := b.take(int(n))
	if err != nil {
		return err
	}
	if b.plain, err = b.zstd.DecodeAll(packed, b.plain[:0]); err != nil {
		return b.damaged("%v", err)
	}
	b.rest = b.plain
	return nil
}

// Read calls use with every record that the stream has, ascending, whole and borrowed; then it makes sure that all
// streams are whole and follow one another. progress, which may be nil, counts bytes of records.
func (b *Reader) Read(
	ctx context.Context, progress func(stage string, done, total int64),
	use func(key, record []byte, version uint64) error,
) (Info, error) {
	done := int64(0)
	for {
		if progress != nil && b.count%record.ContextEvery == 0 {
			progress("restore", done, b.info.Bytes)
		}
		if err := b.next(ctx); err != nil {
			return Info{}, err
		}
		// The disk was asked for room for so many bytes.
		if done += int64(len(b.entry.key) + len(b.entry.record)); done > b.info.Bytes || b.ended && done < b.info.Bytes {
			return Info{}, b.damaged("its records have %d bytes or more, want %d", done, b.info.Bytes)
		}
		if b.ended {
			return b.info, ctx.Err()
		}
		if err := use(b.entry.key, b.entry.record, b.entry.version); err != nil {
			return Info{}, err
		}
	}
}

// next reads the next entry, borrowed until the one after it, with its record. Behind the last entry it makes sure that
// the stream ends and follows the one before.
func (b *Reader) next(ctx context.Context) error {
	if b.count%record.ContextEvery == 0 && ctx.Err() != nil {
		return ctx.Err()
	}
	e := &b.entry
	b.last = append(b.last[:0], e.key...)
	if len(b.rest) == 0 {
		if err := b.readPart(); err != nil {
			return err
		}
	}
	if !e.take(&b.rest) {
		return b.damaged("an entry is cut off")
	}
	if len(e.key) == 0 {
		return b.end(ctx)
	}
	b.count++
	switch {
	case bytes.Compare(e.key, b.last) <= 0:
		return b.damaged("the keys do not ascend")
	case e.version == 0 || e.version > b.info.Snapshot:
		return b.damaged("an entry is of version %d, want 1 to %d", e.version, b.info.Snapshot)
	case len(e.record) > 0:
		if _, err := record.Decode(e.key, e.record); err != nil {
			return b.damaged("%v", err)
		}
		e.sum = record.Checksum(e.record)
		b.info.Changed++
	case b.info.Full:
		return b.damaged("an entry is kept, and there is no backup before this one")
	case b.before != nil:
		switch kept, err := b.before.has(ctx, e.key, e.version, e.sum); {
		case err != nil:
			return err
		case !kept:
			return outOfOrder(b.file, "%s is kept from the one before, which has another or none", record.Describe(e.key))
		}
		e.record = b.before.entry.record
	}
	return nil
}

// has goes on to the first entry whose key is not before one, and reports whether it is of that key, version and
// checksum.
func (b *Reader) has(ctx context.Context, key []byte, version uint64, sum uint32) (bool, error) {
	for !b.ended && bytes.Compare(b.entry.key, key) < 0 {
		if err := b.next(ctx); err != nil {
			return false, err
		}
	}
	return bytes.Equal(b.entry.key, key) && b.entry.version == version && b.entry.sum == sum, nil
}

// end is next after the last entry.
func (b *Reader) end(ctx context.Context) error {
	b.ended = true
	base := bytes.Clone(b.entry.record)
	b.entry.record = nil
	if len(b.rest) > 0 || b.count != b.info.Records || b.info.Full != (len(base) == 0) {
		return b.damaged("the end contradicts the head")
	}
	b.place, b.sum = b.offset, b.digest.Sum(nil)
	sum, err := b.take(sha256.Size)
	if err != nil {
		return err
	}
	if !bytes.Equal(sum, b.sum) {
		return b.damaged("the checksum of the whole does not match")
	}
	b.info.ID, b.info.Since, b.info.Stored = fmt.Sprintf("%x", sum), fmt.Sprintf("%x", base), b.offset
	if n, err := io.ReadFull(b.in, sum[:1]); n > 0 {
		return b.damaged("there is more behind the end")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	if b.before == nil {
		return nil
	}
	if err := b.before.drain(ctx); err != nil {
		return err
	}
	if !bytes.Equal(base, b.before.sum) {
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
