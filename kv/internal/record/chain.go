package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// A chain is one body cut into parts, each a record of at most PartSize, under keys that end in the part's number. The
// first part begins with the number of parts, a varint.
const (
	PartSize = 64 << 10
	maxParts = math.MaxUint16 + 1
)

// PutParts cuts body into parts and writes them with put, ascending. It returns how many.
func PutParts(put func(key, body []byte) error, prefix, body []byte) (int, error) {
	parts := max(1, (len(body)+PartSize-1)/PartSize)
	if parts > maxParts {
		return 0, fmt.Errorf("%s: %w: %d bytes do not fit into one record", Describe(prefix), ErrInvalidValue, len(body))
	}
	first := binary.AppendUvarint(make([]byte, 0, min(len(body), PartSize)+3), uint64(parts))
	for part := range parts {
		piece := body[part*PartSize : min((part+1)*PartSize, len(body))]
		if part == 0 {
			piece = append(first, piece...)
		}
		if err := put(PartKey(prefix, part), piece); err != nil {
			return 0, err
		}
	}
	return parts, nil
}

// IsLaterPart says whether a key is of a part of a chain after the first.
func IsLaterPart(key []byte) bool { return !bytes.HasSuffix(key, []byte{0, 0}) }

// FirstPart splits the first part of a chain into the number of parts and its piece of the body.
func FirstPart(prefix, body []byte) (parts int, piece []byte, err error) {
	count, n := binary.Uvarint(body)
	if n <= 0 || count == 0 || count > maxParts {
		return 0, nil, Corrupt(prefix, "the number of its parts is damaged")
	}
	return int(count), body[n:], nil
}
