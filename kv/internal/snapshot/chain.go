package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Chain calls use with the whole body of a chain, borrowed; record.ErrNotFound when there is none.
func Chain(r Reader, prefix []byte, use func(body []byte) error) error {
	return r.Get(record.PartKey(prefix, 0), func(first []byte) error {
		parts, body, err := record.FirstPart(prefix, first)
		if err != nil {
			return err
		}
		if parts > 1 {
			body = bytes.Clone(body)
		}
		for part := 1; part < parts; part++ {
			err := r.Get(record.PartKey(prefix, part), func(piece []byte) error {
				body = append(body, piece...)
				return nil
			})
			if errors.Is(err, record.ErrNotFound) {
				return record.Corrupt(record.PartKey(prefix, part), "it is missing")
			}
			if err != nil {
				return err
			}
		}
		return use(body)
	})
}

// NeedChain is Chain for one that must be there.
func NeedChain(r Reader, prefix []byte, read func(body []byte) error) error {
	err := Chain(r, prefix, read)
	if errors.Is(err, record.ErrNotFound) {
		return record.Corrupt(prefix, "the record is missing")
	}
	return err
}

// PutChain writes body over whatever chain is there.
func PutChain(w Writer, prefix, body []byte) error {
	old, err := countParts(w, prefix)
	if err != nil {
		return err
	}
	parts, err := record.PutParts(w.Put, prefix, body)
	if err != nil {
		return err
	}
	return removeParts(w, prefix, parts, old)
}

// RemoveChain deletes a chain, of which there may be none.
func RemoveChain(w Writer, prefix []byte) error {
	old, err := countParts(w, prefix)
	if err != nil {
		return err
	}
	return removeParts(w, prefix, 0, old)
}

func removeParts(w Writer, prefix []byte, from, end int) error {
	for part := from; part < end; part++ {
		if err := w.Remove(record.PartKey(prefix, part)); err != nil {
			return err
		}
	}
	return nil
}

// countParts is the number of parts under a prefix, zero when there is no chain.
func countParts(r Reader, prefix []byte) (parts int, err error) {
	_, err = Find(r, record.PartKey(prefix, 0), func(first []byte) error {
		parts, _, err = record.FirstPart(prefix, first)
		return err
	})
	return parts, err
}

// ScanChains yields the chains whose keys begin with prefix and are not less than from (nil: all), ascending. A
// record's key is without the part's number; both are borrowed until the next step.
func ScanChains(records Reader, prefix, from []byte) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		var whole record.Record
		next, parts := 0, 0
		for r, err := range records.Scan(prefix, from) {
			if err != nil {
				yield(record.Record{}, err)
				return
			}
			if len(r.Key) < len(prefix)+2 {
				yield(record.Record{}, record.Corrupt(r.Key, "the key is too short"))
				return
			}
			key, part := r.Key[:len(r.Key)-2], int(binary.BigEndian.Uint16(r.Key[len(r.Key)-2:]))
			if part != next || part > 0 && !bytes.Equal(key, whole.Key) {
				yield(record.Record{}, record.Corrupt(r.Key, "the parts before it are missing"))
				return
			}
			piece := r.Body
			if part == 0 {
				if parts, piece, err = record.FirstPart(r.Key, r.Body); err != nil {
					yield(record.Record{}, err)
					return
				}
				whole.Key, whole.Body = append(whole.Key[:0], key...), whole.Body[:0]
			}
			whole.Body = append(whole.Body, piece...)
			if next = part + 1; next < parts {
				continue
			}
			next = 0
			if !yield(whole, nil) {
				return
			}
		}
		if next > 0 {
			yield(record.Record{}, record.Corrupt(record.PartKey(whole.Key, next), "it is missing"))
		}
	}
}
