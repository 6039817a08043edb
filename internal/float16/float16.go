// Package float16 rounds numbers to IEEE 754 binary16.
package float16

import "math"

// Round rounds x to the nearest number of IEEE 754 binary16, ties to even: the error is at most 2^-11 of x from
// 2^-14 to 65504, and at most 2^-25 below. What is greater is infinite. NaN stays NaN.
func Round(x float32) float32 { return Float32(From(x)) }

// From is the binary16 nearest to x: a sign, 5 bits of exponent, 10 of fraction.
func From(x float32) uint16 {
	const (
		infinite  = 0x7c00
		quiet     = 0x7e00
		leastNorm = 0x38800000 // 2^-14
		overflow  = 0x477ff000 // 65520, halfway between the greatest number and the next power of two
		magic     = 0x3f000000 // 0.5, whose last bit of fraction is 2^-24, the step of the subnormal numbers
		rebias    = (127 - 15) << 23
	)
	b := math.Float32bits(x)
	sign, b := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | quiet
	case b >= overflow:
		return sign | infinite
	case b < leastNorm: // the addition rounds
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+math.Float32frombits(magic))-magic)
	}
	b += 0xfff + b>>13&1 // half a step, less if the last bit is even
	return sign | uint16((b-rebias)>>13)
}

// Float32 is the number that a binary16 stands for, which float32 has exactly.
func Float32(h uint16) float32 {
	const (
		infinite = 0x7c00
		rebias   = 0x1p112 // from one bias of the exponent to the other
	)
	sign, b := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	if b >= infinite {
		return math.Float32frombits(sign | 0x7f800000 | (b-infinite)<<13)
	}
	return math.Float32frombits(sign | math.Float32bits(math.Float32frombits(b<<13)*rebias))
}
