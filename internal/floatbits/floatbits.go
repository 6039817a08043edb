// Package floatbits maps numbers to integers that have the same order. It knows nothing of what the numbers mean.
package floatbits

import "math"

// Order returns bits with the order of the numbers: minus zero before zero, and NaN at an end.
func Order(x float64) uint64 {
	bits := math.Float64bits(x)
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}

// From is the inverse of Order.
func From(bits uint64) float64 {
	if bits>>63 == 0 {
		return math.Float64frombits(^bits)
	}
	return math.Float64frombits(bits &^ (1 << 63))
}
