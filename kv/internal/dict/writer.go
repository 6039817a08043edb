package dict

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A NumberWriter writes a column of numbers, 0, 1, 2, …, as blocks of a new generation.
type NumberWriter struct {
	put        func(key, body []byte) error
	kind       record.Kind
	generation record.Generation
	block      uint32
	body       []byte
}

// NewNumberWriter makes a writer of a kind, KindNodeAt or KindPosition.
func NewNumberWriter(put func(key, body []byte) error, k record.Kind, g record.Generation) *NumberWriter {
	return &NumberWriter{put: put, kind: k, generation: g}
}

// Append takes the next numbers.
func (w *NumberWriter) Append(numbers ...uint32) error {
	for len(numbers) > 0 {
		n := min(len(numbers), NumbersPerBlock-len(w.body)/4)
		for _, number := range numbers[:n] {
			w.body = binary.LittleEndian.AppendUint32(w.body, number)
		}
		numbers = numbers[n:]
		if len(w.body) == 4*NumbersPerBlock {
			if err := w.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close writes the rest.
func (w *NumberWriter) Close() error {
	if len(w.body) == 0 {
		return nil
	}
	err := w.put(record.NumberKey(w.kind, w.generation, w.block), w.body)
	w.block++
	w.body = w.body[:0]
	return err
}

// An IDWriter writes external ids, in the order of their positions, and the buckets to look them up by.
type IDWriter struct {
	put        func(key, body []byte) error
	generation record.Generation
	block      uint32
	ids        int    // in block
	lengths    []byte // of block
	text       []byte // of block
	position   uint32
	hashes     *spill.Numbers[spill.Pair] // hash → position
	pairs      *spill.NumbersWriter[spill.Pair]
}

// NewIDWriter makes a writer that sorts in the directory dir, with so much memory, on so many goroutines (0:
// GOMAXPROCS).
func NewIDWriter(
	put func(key, body []byte) error, g record.Generation, dir string, limit int64, workers int,
) *IDWriter {
	hashes := spill.NewNumbers[spill.Pair](dir, limit, 64, workers)
	return &IDWriter{put: put, generation: g, hashes: hashes, pairs: hashes.Writer()}
}

// Append takes the id of the next position, empty for that of a removed node, which is not looked up.
func (w *IDWriter) Append(id string) error {
	w.lengths = binary.AppendUvarint(w.lengths, uint64(len(id)))
	w.text = append(w.text, id...)
	if id != "" {
		if err := w.pairs.Add(spill.Pair{Key: Hash(id), Value: w.position}); err != nil {
			return err
		}
	}
	w.position++
	w.ids++
	if w.ids < IDsPerBlock {
		return nil
	}
	return w.closeBlock()
}

func (w *IDWriter) closeBlock() error {
	if w.ids == 0 {
		return nil
	}
	err := w.put(record.NumberKey(record.KindIDs, w.generation, w.block), append(w.lengths, w.text...))
	w.block++
	w.ids, w.lengths, w.text = 0, w.lengths[:0], w.text[:0]
	return err
}

// Finish writes the last ids, and the buckets, empty ones too: one that is missing is then damage.
func (w *IDWriter) Finish(ctx context.Context) error {
	if err := w.closeBlock(); err != nil {
		return err
	}
	if err := errors.Join(w.pairs.Close(), w.hashes.Sort(ctx)); err != nil {
		return err
	}
	count := Buckets(int(w.position))
	next := uint32(0)
	var body []byte
	for stretch, err := range w.hashes.Stretches(ctx) {
		if err != nil {
			return err
		}
		for _, p := range stretch {
			for bucket := BucketOf(p.Key, count); next < bucket; next++ {
				if err := w.put(record.NumberKey(record.KindIDLookup, w.generation, next), body); err != nil {
					return err
				}
				body = body[:0]
			}
			body = binary.LittleEndian.AppendUint32(body, uint32(p.Key))
			body = binary.LittleEndian.AppendUint32(body, p.Value)
		}
	}
	for ; int(next) < count; next++ {
		if err := w.put(record.NumberKey(record.KindIDLookup, w.generation, next), body); err != nil {
			return err
		}
		body = body[:0]
	}
	return nil
}

// Close gives the memory and the temporary file back.
func (w *IDWriter) Close() error { return errors.Join(w.pairs.Close(), w.hashes.Close()) }
