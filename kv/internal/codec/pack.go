package codec

import (
	"encoding/binary"
	"math/bits"
)

// byteWidth is the number of bytes that hold x.
func byteWidth(x uint64) int { return (bits.Len64(x) + 7) / 8 }

// appendWidth appends the least bytes of a number, little-endian.
func appendWidth(b []byte, x uint64, width int) []byte {
	return binary.LittleEndian.AppendUint64(b, x)[:len(b)+width]
}

// uints gives access to unsigned numbers of as many bytes each, at most 8.
type uints struct {
	b     []byte
	width int
}

// At is the i-th number; all are zero when the width is.
func (p uints) At(i int) uint64 {
	rest := p.b[i*p.width:]
	if len(rest) >= 8 {
		return binary.LittleEndian.Uint64(rest) & (1<<(8*uint(p.width)) - 1)
	}
	var number [8]byte
	copy(number[:p.width], rest)
	return binary.LittleEndian.Uint64(number[:])
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
	if b := r.Bytes(1); !r.Failed {
		return b[0]
	}
	return 0
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
