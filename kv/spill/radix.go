package spill

import (
	"math/bits"
	"slices"
)

const (
	// leafKeys is the number of keys up to which a sort stays in the second-level cache, with a scratch as long.
	leafKeys = 1 << 14

	// digitBits is the width of a digit of the sort in cache: its counters stay in the first-level cache.
	digitBits = 9

	// splitBits is the width of the digit by which longer arrays are split.
	splitBits = 8

	fewKeys = 96 // below it comparing is faster
)

// sortKeys sorts keys in place. scratch has leafKeys elements.
func sortKeys(keys, scratch []uint64) {
	if len(keys) < fewKeys {
		slices.Sort(keys)
		return
	}
	width := differingBits(keys)
	if len(keys) <= leafKeys {
		sortLeaf(keys, scratch, width)
		return
	}
	if width == 0 {
		return
	}
	begins := splitInPlace(keys, max(width-splitBits, 0))
	for d := range len(begins) - 1 {
		sortKeys(keys[begins[d]:begins[d+1]], scratch)
	}
}

// differingBits is the number of low bits outside which all keys agree.
func differingBits(keys []uint64) int {
	first, all := keys[0], uint64(0)
	for _, k := range keys {
		all |= k ^ first
	}
	return bits.Len64(all)
}

// sortLeaf sorts by digits, least significant first. Keys agree outside their low width bits.
func sortLeaf(keys, scratch []uint64, width int) {
	from, to := keys, scratch[:len(keys)]
	swapped := false
	for shift := 0; shift < width; shift += digitBits {
		var place [1 << digitBits]uint32
		for _, k := range from {
			place[k>>(shift&63)&(1<<digitBits-1)]++
		}
		sum := uint32(0)
		for d, n := range place {
			place[d] = sum
			sum += n
		}
		for _, k := range from {
			d := k >> (shift & 63) & (1<<digitBits - 1)
			to[place[d]] = k
			place[d]++
		}
		from, to, swapped = to, from, !swapped
	}
	if swapped {
		copy(keys, from)
	}
}

// splitInPlace orders keys by the splitBits bits from shift on, and returns where the keys of each digit begin. All
// keys agree in the bits above.
func splitInPlace(keys []uint64, shift int) (begins [1<<splitBits + 1]int) {
	digit := func(k uint64) uint64 { return k >> (shift & 63) & (1<<splitBits - 1) }
	for _, k := range keys {
		begins[digit(k)+1]++
	}
	for d := range 1 << splitBits {
		begins[d+1] += begins[d]
	}
	next := begins
	for d := range uint64(1 << splitBits) {
		end := begins[d+1]
		for next[d] < end {
			k := keys[next[d]]
			// Follow the keys that are in each other's places until one belongs here.
			for other := digit(k); other != d; other = digit(k) {
				keys[next[other]], k = k, keys[next[other]]
				next[other]++
			}
			keys[next[d]] = k
			next[d]++
		}
	}
	return begins
}

// distinct drops repeated keys of an ascending array, in place.
func distinct(keys []uint64) []uint64 {
	if len(keys) == 0 {
		return keys
	}
	n := 1
	for _, k := range keys[1:] {
		keys[n] = k
		if k != keys[n-1] {
			n++
		}
	}
	return keys[:n]
}
