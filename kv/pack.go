package kv

import (
	"encoding/binary"
	"math/bits"
)

// byteWidth is the least of 0, 1, 2, 4 and 8 bytes that hold x.
func byteWidth(x uint64) int {
	switch n := bits.Len64(x); {
	case n == 0:
		return 0
	case n <= 8:
		return 1
	case n <= 16:
		return 2
	case n <= 32:
		return 4
	}
	return 8
}

func appendWidth(b []byte, x uint64, width int) []byte {
	switch width {
	case 0:
		return b
	case 1:
		return append(b, byte(x))
	case 2:
		return binary.LittleEndian.AppendUint16(b, uint16(x))
	case 4:
		return binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return binary.LittleEndian.AppendUint64(b, x)
}

// packed gives access to unsigned numbers of 0, 1, 2, 4 or 8 bytes each, little-endian.
type packed struct {
	b     []byte
	width int
}

// at is the i-th number; all are zero when the width is.
func (p packed) at(i int) uint64 {
	switch p.width {
	case 0:
		return 0
	case 1:
		return uint64(p.b[i])
	case 2:
		return uint64(binary.LittleEndian.Uint16(p.b[2*i:]))
	case 4:
		return uint64(binary.LittleEndian.Uint32(p.b[4*i:]))
	}
	return binary.LittleEndian.Uint64(p.b[8*i:])
}

// A reader takes a record apart. After it ran out of bytes, or a number was too big, it has failed and returns zeros.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) fail() {
	r.b, r.failed = nil, true
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	x := r.b[0]
	r.b = r.b[1:]
	return x
}

// bytes takes the next n, borrowed.
func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail()
		return nil
	}
	x := r.b[:n:n]
	r.b = r.b[n:]
	return x
}

func (r *reader) uint64() uint64 {
	if len(r.b) < 8 {
		r.fail()
		return 0
	}
	x := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return x
}

func (r *reader) uvarint(limit uint64) uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 || x > limit {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return x
}

func (r *reader) varint() int64 {
	x, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return x
}
