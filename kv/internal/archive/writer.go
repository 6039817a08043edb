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

	"github.com/klauspost/compress/zstd"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Writer writes a stream: Begin, Add for every record of the snapshot, by ascending key, and End. It must be closed.
type Writer struct {
	info Info
	base *Reader // the stream before, nil of a full one

	out    io.Writer // the file, digest and stored
	digest hash.Hash
	stored counter
	zstd   *zstd.Encoder
	value  bytes.Buffer // a head or an entry
	enc    *msgpack.Encoder
}

// A counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// NewWriter is for a snapshot of a store, since the stream before, which may be nil. That is read, and compared with
// its checksums, to its end.
func NewWriter(info Info, since io.Reader) (*Writer, error) {
	b := &Writer{info: info, digest: sha256.New()}
	b.enc = msgpack.NewEncoder(&b.value)
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
	b.out, b.info.Records, b.info.Bytes = io.MultiWriter(w, b.digest, &b.stored), records, bytes
	if _, err := io.WriteString(b.out, magic); err != nil {
		return err
	}
	// Blocks are packed by their own encodings: a slower level takes three times as long and saves hardly more.
	b.zstd, err = zstd.NewWriter(b.out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithWindowSize(window))
	if err != nil {
		return err
	}
	return b.put(&b.info, nil)
}

// put writes a value, and what is behind it.
func (b *Writer) put(v any, behind []byte) error {
	b.value.Reset()
	if err := b.enc.Encode(v); err != nil {
		return err
	}
	for _, part := range [][]byte{binary.AppendUvarint(nil, uint64(b.value.Len())), b.value.Bytes(), behind} {
		if _, err := b.zstd.Write(part); err != nil {
			return err
		}
	}
	return nil
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
		// That its commit is the same would do, but for a store that was copied and went on twice: then the checksum
		// tells.
		sum := record.Checksum(value)
		kept, err := b.base.has(ctx, key, version, sum)
		if err != nil {
			return err
		}
		if kept {
			return b.put(&entry{Key: key, Version: version, Sum: sum}, nil)
		}
	}
	b.info.Changed++
	return b.put(&entry{Key: key, Version: version, Size: uint32(len(value))}, value)
}

// End ends the stream, once the one before was read to its end.
func (b *Writer) End(ctx context.Context) (Info, error) {
	var base []byte
	if b.base != nil {
		if err := b.base.drain(ctx); err != nil {
			return Info{}, err
		}
		base, b.info.Since = b.base.in.sum, b.base.info.ID
	}
	if err := errors.Join(b.put(&entry{Size: uint32(len(base))}, base), b.zstd.Close()); err != nil {
		return Info{}, err
	}
	sum := b.digest.Sum(nil)
	_, err := b.out.Write(sum)
	b.info.ID, b.info.Stored = fmt.Sprintf("%x", sum), int64(b.stored)
	return b.info, err
}

// Close gives the memory back.
func (b *Writer) Close() { b.base.Close() }
