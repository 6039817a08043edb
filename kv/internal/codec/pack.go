package codec

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

// uints gives access to unsigned numbers of 0, 1, 2, 4 or 8 bytes each, little-endian.
type uints struct {
	b     []byte
	width int
}

// At is the i-th number; all are zero when the width is.
func (p uints) At(i int) uint64 {
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

// A Reader takes a record apart. After it ran out of bytes, or a number was too big, it has failed and returns zeros.
type Reader struct {
	Rest   []byte
	Failed bool
}

// Fail has the reader fail.
func (r *Reader) Fail() {
	r.Rest, r.Failed = nil, true
}

func (r *Reader) byte() byte {
	if len(r.Rest) == 0 {
		r.Fail()
		return 0
	}
	x := r.Rest[0]
	r.Rest = r.Rest[1:]
	return x
}

// Bytes takes the next n, borrowed.
func (r *Reader) Bytes(n int) []byte {
	if n < 0 || n > len(r.Rest) {
		r.Fail()
		return nil
	}
	x := r.Rest[:n:n]
	r.Rest = r.Rest[n:]
	return x
}

// Uvarint reads a varint that is at most limit.
func (r *Reader) Uvarint(limit uint64) uint64 {
	if len(r.Rest) > 0 && r.Rest[0] < 0x80 && uint64(r.Rest[0]) <= limit { // most are one byte
		x := uint64(r.Rest[0])
		r.Rest = r.Rest[1:]
		return x
	}
	x, n := binary.Uvarint(r.Rest)
	if n <= 0 || x > limit {
		r.Fail()
		return 0
	}
	r.Rest = r.Rest[n:]
	return x
}
