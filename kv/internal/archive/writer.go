package archive

import (
	"context"
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

// A Writer writes a stream: Begin, Add for every record of the snapshot, by ascending key, and End. It must be closed.
type Writer struct {
	head   Head
	base   *reader // the stream before, nil of a full one
	before *cursor // of it

	out     sealer
	zstd    *zstd.Encoder
	buf     []byte // scratch
	changed int64
}

// A sealer counts and sums what it writes.
type sealer struct {
	w      io.Writer
	digest hash.Hash
	bytes  int64
}

func (s *sealer) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.digest.Write(p[:n])
	s.bytes += int64(n)
	return n, err
}

// NewWriter is for a snapshot that a head describes but for its records, since the stream before, which may be nil.
// That is read, and compared with its checksums, to its end.
func NewWriter(ctx context.Context, head Head, since io.Reader) (*Writer, error) {
	b := &Writer{head: head, out: sealer{digest: sha256.New()}}
	b.head.Version, b.head.Full = streamVersion, since == nil
	if since == nil {
		return b, nil
	}
	var err error
	if b.base, err = newReader(since, 0); err != nil {
		return nil, err
	}
	b.before = newCursor(b.base.entries(ctx))
	if err := b.follow(b.base.head); err != nil {
		b.Close()
		return nil, err
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

// Writes reports whether a record is surely written; otherwise the stream before may have it.
func (b *Writer) Writes(key []byte, version uint64) bool {
	isNew := func() bool {
		return len(key) >= 5 && record.Kind(key[0]).InPacks() && record.GenerationOf(key) >= b.base.head.Next
	}
	return b.head.Full || version > b.head.Since || isNew()
}

// Begin begins to write a snapshot of so many records, with so many bytes of keys and records.
func (b *Writer) Begin(w io.Writer, records, bytes int64) (err error) {
	b.out.w, b.head.Records, b.head.Bytes = w, records, bytes
	if _, err := b.out.Write([]byte(magic)); err != nil {
		return err
	}
	// Blocks are packed by their own encodings: a slower level takes three times as long and saves hardly more.
	b.zstd, err = zstd.NewWriter(&b.out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithWindowSize(window))
	if err != nil {
		return err
	}
	head, err := msgpack.Marshal(b.head)
	if err != nil {
		return err
	}
	return b.write(head, nil)
}

// write writes bytes behind their length, and what follows them.
func (b *Writer) write(p, behind []byte) error {
	b.buf = append(binary.AppendUvarint(b.buf[:0], uint64(len(p))), p...)
	_, err := b.zstd.Write(append(b.buf, behind...))
	return err
}

// Add adds a record, or that it is kept from the stream before. One whose checksum does not match is an ErrCorrupt of
// record.
func (b *Writer) Add(key, value []byte, version uint64) error {
	if _, err := record.Decode(key, value); err != nil {
		return err
	}
	if len(value) > maxRecord {
		return fmt.Errorf("%s: %w: a record of %d bytes is too large for a backup",
			record.Describe(key), record.ErrInvalidValue, len(value))
	}
	// That its commit is the same would do, but for a store that was copied and went on twice: then the checksum tells.
	kept := false
	if b.base != nil {
		if err := b.before.seek(key); err != nil {
			return err
		}
		kept = b.before.has(entry{key: key, version: version, sum: record.Checksum(value)})
	}
	if err := b.write(key, binary.AppendUvarint(nil, version)); err != nil {
		return err
	}
	if kept {
		return b.write(nil, binary.BigEndian.AppendUint32(nil, record.Checksum(value)))
	}
	b.changed++
	return b.write(value, nil)
}

// End ends the stream, once the one before was read to its end.
func (b *Writer) End() (Info, error) {
	var base []byte
	if b.base != nil {
		if err := b.before.end(); err != nil {
			return Info{}, err
		}
		base = b.base.in.sum
	}
	if err := errors.Join(b.write(nil, nil), b.write(base, nil), b.zstd.Close()); err != nil {
		return Info{}, err
	}
	sum := b.out.digest.Sum(nil)
	if _, err := b.out.Write(sum); err != nil {
		return Info{}, err
	}
	return b.head.info(sum, base, b.changed, b.out.bytes), nil
}

// Close gives its memory back.
func (b *Writer) Close() {
	if b.base != nil {
		b.before.stop()
		b.base.close()
	}
}
