package archive

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Writer writes a stream: Begin, Add for every record of the snapshot, by ascending key, and End. It must be closed.
type Writer struct {
	info Info
	base *Reader // the stream before, nil of a full one

	out    io.Writer
	digest hash.Hash // of the bytes written
	zstd   *zstd.Encoder
	part   []byte // which is not written yet
	packed []byte // memory of the same, compressed
}

// NewWriter is for a snapshot of a store, since the stream before, which may be nil. That is read, and compared with
// its checksums, to its end.
func NewWriter(info Info, since io.Reader) (*Writer, error) {
	b := &Writer{info: info, digest: sha256.New()}
	if b.info.Full = since == nil; b.info.Full {
		return b, nil
	}
	base, err := newReader(since, 0, nil)
	if err != nil {
		return nil, err
	}
	switch {
	case base.info.Store != info.Store:
		err = outOfOrder(0, "it is of the store %s, and this one is %s", base.info.Store, info.Store)
	case base.info.Snapshot > info.Snapshot:
		err = outOfOrder(0, "it is of commit %d, and the store has come to %d", base.info.Snapshot, info.Snapshot)
	}
	if err != nil {
		base.Close()
		return nil, err
	}
	b.base, b.info.After = base, base.info.Snapshot
	return b, nil
}

// Writes reports whether a record is surely written; otherwise the stream before may have it.
func (b *Writer) Writes(key []byte, version uint64) bool {
	isNew := func() bool {
		return len(key) >= 5 && record.Kind(key[0]).InPacks() && record.GenerationOf(key) >= b.base.info.Next
	}
	return b.info.Full || version > b.info.After || isNew()
}

// Begin begins to write a snapshot of so many records, with so many bytes of keys and records.
func (b *Writer) Begin(w io.Writer, records, bytes int64) (err error) {
	b.out, b.info.Records, b.info.Bytes = w, records, bytes
	// Blocks are packed by their own encodings: a slower level takes three times as long and saves hardly more.
	b.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(partBytes))
	if err != nil {
		return err
	}
	if err := b.write([]byte(magic)); err != nil {
		return err
	}
	if b.part, err = msgpack.Marshal(&b.info); err != nil {
		return err
	}
	return b.flush()
}

// write writes to the file.
func (b *Writer) write(p []byte) error {
	b.digest.Write(p)
	b.info.Stored += int64(len(p))
	_, err := b.out.Write(p)
	return err
}

// flush writes the part.
func (b *Writer) flush() error {
	b.packed = b.zstd.EncodeAll(b.part, append(b.packed[:0], 0, 0, 0, 0))
	binary.BigEndian.PutUint32(b.packed, uint32(len(b.packed)-4))
	b.part = b.part[:0]
	return b.write(b.packed)
}

// put writes an entry.
func (b *Writer) put(e entry) error {
	if b.part = e.append(b.part); len(b.part) < partBytes {
		return nil
	}
	return b.flush()
}

// Add adds a record, or that it is kept from the stream before. One whose checksum does not match is an ErrCorrupt of
// record.
func (b *Writer) Add(ctx context.Context, key, value []byte, version uint64) error {
	if _, err := record.Decode(key, value); err != nil {
		return err
	}
	if len(value) > maxRecord {
		return fmt.Errorf("%s: %w: a record of %d bytes is too large for a backup",
			record.Describe(key), record.ErrInvalidValue, len(value))
	}
	if b.base != nil {
		// That its commit is the same would do, except for a store that was copied and went on twice: then the checksum
		// tells.
		sum := record.Checksum(value)
		kept, err := b.base.has(ctx, key, version, sum)
		if err != nil {
			return err
		}
		if kept {
			return b.put(entry{key: key, version: version, sum: sum})
		}
	}
	b.info.Changed++
	return b.put(entry{key: key, version: version, record: value})
}

// End ends the stream, once the one before was read to its end.
func (b *Writer) End(ctx context.Context) (Info, error) {
	var base []byte
	if b.base != nil {
		if err := b.base.drain(ctx); err != nil {
			return Info{}, err
		}
		base, b.info.Since = b.base.sum, b.base.info.ID
	}
	end := entry{record: base}
	b.part = end.append(b.part)
	if err := b.flush(); err != nil {
		return Info{}, err
	}
	sum := b.digest.Sum(nil)
	err := b.write(sum)
	b.info.ID = fmt.Sprintf("%x", sum)
	return b.info, err
}

// Close gives the memory back.
func (b *Writer) Close() { b.base.Close() }
