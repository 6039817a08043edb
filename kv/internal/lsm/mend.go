package lsm

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A CRC-32 does not only tell that one byte of a text is wrong, but also which, and what it was: the difference d of the
// checksums is that of a text of zeros but for the error e at one place, and running the division backwards from d, over
// one zero after the other, finds the place where e alone gives what is left.

// mendByte finds the one byte of body whose change gives it the checksum want: its place and the difference. ok is false
// where there is none, or more than one.
func mendByte(body []byte, want uint32) (at int, difference byte, ok bool) {
	var inverse [256]byte // the place in the table by the highest byte, which are all different
	for i, x := range castagnoli {
		inverse[x>>24] = byte(i)
	}
	state := crc32.Checksum(body, castagnoli) ^ want
	for i := len(body) - 1; i >= 0; i-- {
		e := inverse[state>>24]
		if castagnoli[e] == state && e != 0 {
			if ok {
				return 0, 0, false
			}
			at, difference, ok = i, e, true
		}
		state = (state^castagnoli[e])<<8 | uint32(e)
	}
	return at, difference, ok
}

// mendBlock puts a block of a table right of which one byte is wrong, in a copy; ok is false where more is wrong.
func mendBlock(block []byte) (mended []byte, ok bool) {
	if body, sum, found := cutTableChecksum(block); found {
		if at, difference, found := mendByte(body, sum); found {
			mended = slices.Clone(block)
			mended[at] ^= difference
			return mended, soundBlock(mended)
		}
	}
	return mendEnd(block, func(body []byte) ([]byte, error) { return appendTableChecksum(nil, body) })
}

// longestChecksum is the size of an encoded checksum and its length, in bytes.
const longestChecksum = 4 + 1 + binary.MaxVarintLen32

// mendEnd is for a text whose last bytes, at most longestChecksum, are made from those before by end: where one of them
// is wrong they are made again.
func mendEnd(text []byte, end func(body []byte) ([]byte, error)) (mended []byte, ok bool) {
	for length := 4; length <= min(longestChecksum, len(text)); length++ {
		body := text[:len(text)-length]
		again, err := end(body)
		if err == nil && len(again) == length && differences(text[len(body):], again) == 1 {
			return slices.Concat(body, again), true
		}
	}
	return nil, false
}

// differences counts the bytes in which two texts of one length differ.
func differences(a, b []byte) (count int) {
	for i := range a {
		if a[i] != b[i] {
			count++
		}
	}
	return count
}

// mendIndex puts a table right of whose index, or of its length or checksum, one byte is wrong, in a copy.
func mendIndex(data []byte) (mended []byte, ok bool) {
	if body, sum, found := cutTableChecksum(data); found && len(body) >= 4 {
		mended, ok = mendIndexBody(data, body, sum)
		if ok {
			return mended, true
		}
	}
	return mendEnd(data, func(body []byte) ([]byte, error) {
		if len(body) < 4 {
			return nil, record.ErrCorrupt
		}
		index, ok := endOf(body[:len(body)-4], binary.BigEndian.Uint32(body[len(body)-4:]))
		if !ok {
			return nil, record.ErrCorrupt
		}
		return appendTableChecksum(nil, index)
	})
}

// mendIndexBody is mendIndex where the checksum is right: body is data without it, and ends in the length.
func mendIndexBody(data, body []byte, sum uint32) (mended []byte, ok bool) {
	blocks, length := body[:len(body)-4], bytes.Clone(body[len(body)-4:])
	if index, ok := endOf(blocks, binary.BigEndian.Uint32(length)); ok {
		if at, difference, ok := mendByte(index, sum); ok {
			mended = slices.Clone(data)
			mended[len(blocks)-len(index)+at] ^= difference
			return mended, true
		}
	}
	for i := range length {
		for difference := 1; difference < 256; difference++ {
			length[i] ^= byte(difference)
			index, ok := endOf(blocks, binary.BigEndian.Uint32(length))
			if ok && crc32.Checksum(index, castagnoli) == sum {
				mended = slices.Clone(data)
				copy(mended[len(blocks):], length)
				return mended, true
			}
			length[i] ^= byte(difference)
		}
	}
	return nil, false
}

// endOf is the end of a text, of a length of at least 1; ok is false where the text is shorter.
func endOf(text []byte, length uint32) (end []byte, ok bool) {
	if length == 0 || int64(length) > int64(len(text)) {
		return nil, false
	}
	return text[len(text)-int(length):], true
}
