package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
)

// A chain is one body cut into parts, each a record of at most partSize, under keys that end in the part's number. The
// first part begins with the number of parts, a varint.
const (
	partSize = 64 << 10
	maxParts = math.MaxUint16 + 1
)

// putParts cuts body into parts and writes them with put, ascending. It returns how many.
func putParts(put func(key, body []byte) error, prefix, body []byte) (int, error) {
	parts := max(1, (len(body)+partSize-1)/partSize)
	if parts > maxParts {
		return 0, fmt.Errorf("%s: %w: %d bytes do not fit into one record", describeKey(prefix), ErrInvalidValue, len(body))
	}
	first := binary.AppendUvarint(make([]byte, 0, min(len(body), partSize)+3), uint64(parts))
	for part := range parts {
		piece := body[part*partSize : min((part+1)*partSize, len(body))]
		if part == 0 {
			piece = append(first, piece...)
		}
		if err := put(partKey(prefix, part), piece); err != nil {
			return 0, err
		}
	}
	return parts, nil
}

// firstPart splits the first part of a chain into the number of parts and its piece of the body.
func firstPart(prefix, body []byte) (parts int, piece []byte, err error) {
	count, n := binary.Uvarint(body)
	if n <= 0 || count == 0 || count > maxParts {
		return 0, nil, corrupt(prefix, "the number of its parts is damaged")
	}
	return int(count), body[n:], nil
}

// getChain calls use with the whole body, borrowed; ErrNotFound when there is none.
func (tx *Tx) getChain(prefix []byte, use func(body []byte) error) error {
	return getFunc(tx.get).chain(prefix, use)
}

// chain is getChain, record by record with get.
func (get getFunc) chain(prefix []byte, use func(body []byte) error) error {
	return get(partKey(prefix, 0), func(first []byte) error {
		parts, body, err := firstPart(prefix, first)
		if err != nil {
			return err
		}
		if parts > 1 {
			body = bytes.Clone(body)
		}
		for part := 1; part < parts; part++ {
			err := get(partKey(prefix, part), func(piece []byte) error {
				body = append(body, piece...)
				return nil
			})
			if errors.Is(err, ErrNotFound) {
				return corrupt(partKey(prefix, part), "it is missing")
			}
			if err != nil {
				return err
			}
		}
		return use(body)
	})
}

// putChain writes body over whatever chain is there.
func (tx *Tx) putChain(prefix, body []byte) error {
	if err := tx.writable(); err != nil {
		return err
	}
	old, err := tx.countParts(prefix)
	if err != nil {
		return err
	}
	parts, err := putParts(tx.put, prefix, body)
	if err != nil {
		return tx.fail(err)
	}
	return tx.removeParts(prefix, parts, old)
}

// removeChain deletes a chain, of which there may be none.
func (tx *Tx) removeChain(prefix []byte) error {
	old, err := tx.countParts(prefix)
	if err != nil {
		return err
	}
	return tx.removeParts(prefix, 0, old)
}

func (tx *Tx) removeParts(prefix []byte, from, end int) error {
	for part := from; part < end; part++ {
		if err := tx.remove(partKey(prefix, part)); err != nil {
			return err
		}
	}
	return nil
}

// countParts is the number of parts under a prefix, zero when there is no chain.
func (tx *Tx) countParts(prefix []byte) (parts int, err error) {
	err = tx.get(partKey(prefix, 0), func(first []byte) error {
		parts, _, err = firstPart(prefix, first)
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return parts, err
}

// scanChains yields the chains whose keys begin with prefix and are not less than from (nil: all), ascending. A record's
// key is without the part's number; both are borrowed until the next step.
func (tx *Tx) scanChains(prefix, from []byte) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		var whole record
		next, parts := 0, 0
		for r, err := range tx.scan(prefix, from) {
			if err != nil {
				yield(record{}, err)
				return
			}
			if len(r.key) < len(prefix)+2 {
				yield(record{}, corrupt(r.key, "the key is too short"))
				return
			}
			key, part := r.key[:len(r.key)-2], int(binary.BigEndian.Uint16(r.key[len(r.key)-2:]))
			if part != next || part > 0 && !bytes.Equal(key, whole.key) {
				yield(record{}, corrupt(r.key, "the parts before it are missing"))
				return
			}
			piece := r.body
			if part == 0 {
				if parts, piece, err = firstPart(r.key, r.body); err != nil {
					yield(record{}, err)
					return
				}
				whole.key, whole.body = append(whole.key[:0], key...), whole.body[:0]
			}
			whole.body = append(whole.body, piece...)
			if next = part + 1; next < parts {
				continue
			}
			next = 0
			if !yield(whole, nil) {
				return
			}
		}
		if next > 0 {
			yield(record{}, corrupt(partKey(whole.key, next), "it is missing"))
		}
	}
}
