package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Writer writes a stream: Begin, Add for every record of the snapshot, by ascending key, and End. It must be closed.
type Writer struct {
	head Head
	base *reader // the stream before, nil of a full one
	more bool    // base.entry is one

	w      io.Writer
	zstd   *zstd.Encoder
	digest hash.Hash
	bytes  int64 // written
	raw    []byte
	key    []byte // of the entry before, in the frame
	frame  []byte
	end    streamEnd
}

// NewWriter is for the snapshot of a store of a format, since the stream before, which may be nil. That is read, and compared
// with its checksums, to its end.
func NewWriter(store string, format int, snapshot uint64, since io.Reader) (*Writer, error) {
	// Blocks are packed by their own encodings: a slower level takes three times as long and saves hardly more.
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithWindowSize(frameTarget))
	if err != nil {
		return nil, err
	}
	b := &Writer{
		head: Head{Version: streamVersion, Format: format, Store: store, Snapshot: snapshot, Full: since == nil},
		zstd: encoder, digest: sha256.New(),
	}
	if since == nil {
		return b, nil
	}
	if b.base, err = newReader(since, 0); err == nil {
		err = b.follow(b.base.head)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// follow goes on from the stream before, of which the store must have come.
func (b *Writer) follow(base Head) error {
	switch {
	case base.Store != b.head.Store:
		return outOfOrder(0, "it is of the store %s, and this one is %s", base.Store, b.head.Store)
	case base.Format > b.head.Format:
		return outOfOrder(0, "it is of format version %d, and the store has %d: make a full one", base.Format, b.head.Format)
	case base.Snapshot > b.head.Snapshot:
		return outOfOrder(0, "it is of commit %d, and the store has come to %d", base.Snapshot, b.head.Snapshot)
	}
	b.head.Since = base.Snapshot
	return nil
}

// Writes reports whether a record of a version is written; otherwise the stream before may have it.
func (b *Writer) Writes(version uint64) bool { return b.head.Full || version > b.head.Since }

// Begin begins to write a snapshot of so many records, with so many bytes of keys and records.
func (b *Writer) Begin(w io.Writer, records, bytes int64) (err error) {
	b.w, b.head.Records, b.head.Bytes = w, records, bytes
	if err := b.write([]byte(magic)); err != nil {
		return err
	}
	if err := b.small(frameHead, b.head); err != nil || b.base == nil {
		return err
	}
	b.more, err = b.base.next()
	return err
}

// Add adds a record, or that it is kept from the stream before. One whose checksum does not match is an ErrCorrupt of record.
func (b *Writer) Add(key, value []byte, version uint64) error {
	if _, err := record.Decode(key, value); err != nil {
		return err
	}
	e := entry{key: key, version: version, sum: record.Checksum(value)}
	kept, err := b.isKept(e)
	if err != nil {
		return err
	}
	if !kept {
		e.record = value
	}
	return b.add(e)
}

// isKept reports whether a record is that of the stream before. That its commit is the same would do, but for a store
// that was copied and went on twice: then the checksum tells.
func (b *Writer) isKept(e entry) (kept bool, err error) {
	for b.more {
		switch base := b.base.entry; bytes.Compare(base.key, e.key) {
		case 0:
			return base.version == e.version && base.sum == e.sum, nil
		case 1:
			return false, nil
		}
		if b.more, err = b.base.next(); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (b *Writer) add(e entry) error {
	shared := 0
	for shared < min(len(b.key), len(e.key)) && b.key[shared] == e.key[shared] {
		shared++
	}
	b.key = append(b.key[:0], e.key...)
	b.raw = binary.AppendUvarint(b.raw, uint64(shared))
	b.raw = binary.AppendUvarint(b.raw, uint64(len(e.key)-shared))
	b.raw = append(b.raw, e.key[shared:]...)
	b.raw = binary.AppendUvarint(b.raw, e.version)
	b.raw = binary.AppendUvarint(b.raw, uint64(len(e.record)))
	if e.record == nil {
		b.raw = binary.BigEndian.AppendUint32(b.raw, e.sum)
	} else {
		b.raw = append(b.raw, e.record...)
		b.end.Changed++
	}
	b.end.Records++
	if len(b.raw) < frameTarget {
		return nil
	}
	return b.flush()
}

// flush ends a frame of records.
func (b *Writer) flush() error {
	if len(b.raw) == 0 {
		return nil
	}
	if len(b.raw) > maxFrame {
		return fmt.Errorf("%s: %w: a record of %d bytes is too large for a backup",
			record.Describe(b.key), record.ErrInvalidValue, len(b.raw))
	}
	b.begin(frameRecords, len(b.raw))
	b.frame = b.zstd.EncodeAll(b.raw, b.frame)
	b.raw, b.key = b.raw[:0], b.key[:0]
	return b.endFrame()
}

func (b *Writer) begin(kind byte, raw int) {
	b.frame = append(b.frame[:0], kind, 0, 0, 0, 0)
	b.frame = binary.BigEndian.AppendUint32(b.frame, uint32(raw))
}

// endFrame completes the frame and writes it.
func (b *Writer) endFrame() error {
	length := len(b.frame) - frameHeader
	if length > maxFrame { // of bytes that do not compress, little less than allowed
		return fmt.Errorf("a frame of %d bytes is too large for a backup: %w", length, record.ErrInvalidValue)
	}
	binary.BigEndian.PutUint32(b.frame[1:], uint32(length))
	return b.write(binary.BigEndian.AppendUint32(b.frame, crc32c.Of(b.frame)))
}

func (b *Writer) small(kind byte, v any) error {
	body, err := msgpack.Marshal(v)
	if err != nil {
		return err
	}
	b.begin(kind, len(body))
	b.frame = append(b.frame, body...)
	return b.endFrame()
}

func (b *Writer) write(p []byte) error {
	b.digest.Write(p) // never fails
	n, err := b.w.Write(p)
	b.bytes += int64(n)
	return err
}

// End ends the stream, once the one before was read to its end.
func (b *Writer) End() (Info, error) {
	if b.base != nil {
		if err := b.base.drain(); err != nil {
			return Info{}, err
		}
		b.end.Base = b.base.end.Digest
	}
	if err := b.flush(); err != nil {
		return Info{}, err
	}
	b.digest.Write(b.end.Base)
	b.end.Digest = b.digest.Sum(nil)
	if err := b.small(frameEnd, b.end); err != nil {
		return Info{}, err
	}
	return b.head.info(b.end, b.bytes), nil
}

// Close gives its memory back.
func (b *Writer) Close() error {
	if b.base != nil {
		b.base.close()
	}
	return b.zstd.Close()
}
