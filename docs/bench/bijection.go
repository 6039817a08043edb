package main

import "math/bits"

// Streams of random numbers. Each is drawn by itself, so that no part of a graph depends on another being generated.
const (
	streamEdges = iota + 1
	streamIDs
	streamRows
	streamWrong
	streamSplit
	streamPredictions
)

// mix is a random number that depends on a seed, a stream and an index, all of whose bits count (splitmix64).
func mix(seed uint64, stream, index uint64) uint64 {
	x := seed
	for _, y := range [...]uint64{stream, index} {
		x += 0x9e3779b97f4a7c15 + y*0xd1342543de82ef95
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return x
}

// unit is a number in [0, 1) from 53 bits of x.
func unit(x uint64) float64 { return float64(x>>11) * 0x1p-53 }

// A bijection permutes [0, n) by a keyed hash that can be inverted, and so takes no memory. Where n is no power of two
// the hash works on the next one, and is applied until it comes back into the range.
type bijection struct {
	n, mask uint64
	shift   int
	mul     [bijectionRounds]uint64
	add     [bijectionRounds]uint64
}

const bijectionRounds = 4

func newBijection(n int, seed, stream uint64) *bijection {
	width := bits.Len64(uint64(n - 1))
	b := &bijection{n: uint64(n), mask: 1<<width - 1, shift: max(1, (width+1)/2)}
	for i := range b.mul {
		b.mul[i] = mix(seed, stream, uint64(2*i)) | 1
		b.add[i] = mix(seed, stream, uint64(2*i+1))
	}
	return b
}

func (b *bijection) of(x uint64) uint64 {
	for {
		for i := range b.mul {
			x = (x*b.mul[i] + b.add[i]) & b.mask
			x ^= x >> b.shift
		}
		if x < b.n {
			return x
		}
	}
}
