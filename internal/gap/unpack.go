package gap

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// unpackPlain does the same as unpack, in Go.
func unpackPlain(dst []uint32, data []byte) (numbers, at int) {
	const (
		high     = 0x8080808080808080
		highFive = 0x0000008080808080 // a number of 32 bits needs at most five bytes
	)
	j := 0
	for j < len(dst) && at+8 <= len(data) {
		w := binary.LittleEndian.Uint64(data[at:])
		if w&high == 0 && len(dst)-j >= 8 { // eight gaps of one byte: the common case within a hub's list
			d := dst[j : j+8 : j+8]
			for k := range d {
				d[k] = uint32(w&0x7f) + 1
				w >>= 8
			}
			j, at = j+8, at+8
			continue
		}
		stop := ^w & highFive
		if stop == 0 {
			return j, at
		}
		w &= stop ^ (stop - 1) // up to the first byte that ends a number
		x := w&0x7f | w>>1&0x3f80 | w>>2&0x1fc000 | w>>3&0xfe00000 | w>>4&0x7f0000000
		if x >= math.MaxUint32 {
			return j, at
		}
		at += bits.TrailingZeros64(stop)>>3 + 1
		dst[j] = uint32(x) + 1
		j++
	}
	for ; j < len(dst); j++ {
		x, next := uvarint(data, at)
		if next == 0 || next-at > 5 || x >= math.MaxUint32 {
			return j, at
		}
		at = next
		dst[j] = uint32(x) + 1
	}
	return j, at
}

// sums turns gaps plus one each into neighbours, in place, and returns the greatest plus one. Sums of 32-bit numbers
// cannot wrap 64 bits within a slice, so the greatest stands for all.
func sums(list []uint32) uint64 {
	next := uint64(0)
	for k, gap := range list {
		next += uint64(gap)
		list[k] = uint32(next - 1)
	}
	return next
}
