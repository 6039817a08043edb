package spill

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	// leafKeys is the number of keys up to which a sort stays in the second-level cache, with a scratch as long.
	leafKeys = 1 << 14

	// maxDigitBits is the greatest width of a digit of the sort in cache: its counters stay in the first-level cache.
	maxDigitBits = 11

	// keyCost is the cost of a key for a digit, in costs of a counter.
	keyCost = 8

	// splitBits is the width of the digit by which longer arrays are split.
	splitBits = 8

	fewKeys = 96 // below it comparing is faster
)

// sortKeys sorts by key, in place. scratch has leafKeys elements.
func sortKeys[T Number](keys, scratch []T) {
	if len(keys) < fewKeys {
		sortFew(keys)
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
func differingBits[T Number](keys []T) int {
	first, all := keyOf(&keys[0]), uint64(0)
	for i := range keys {
		all |= keyOf(&keys[i]) ^ first
	}
	return bits.Len64(all)
}

// countDigits is how many digits of about the same width take the least time, for so many keys that differ in width
// bits: with fewer of them there are more counters.
func countDigits(keys, width int) int {
	cost := func(digits int) int { return digits * (keyCost*keys + 1<<((width+digits-1)/digits)) }
	digits := (width + maxDigitBits - 1) / maxDigitBits
	for cost(digits+1) < cost(digits) {
		digits++
	}
	return digits
}

// A keyed is sorted by the number that is its first field.
type keyed interface{ Number | entry }

// sortLeaf sorts by digits, least significant first, so that equal keys stay in their order. Keys agree outside their
// low width bits.
func sortLeaf[T keyed](keys, scratch []T, width int) {
	if width == 0 {
		return
	}
	digits := countDigits(len(keys), width)
	digitBits := (width + digits - 1) / digits
	from, to := keys, scratch[:len(keys)]
	var memory [1 << maxDigitBits]uint32
	place := memory[:1<<digitBits] // from whose length the compiler knows that a digit is in it
	for digit := range digits {
		shift := digit * digitBits
		clear(place)
		for i := range from {
			place[keyOf(&from[i])>>(shift&63)&uint64(len(place)-1)]++
		}
		sum := uint32(0)
		for d, n := range place {
			place[d] = sum
			sum += n
		}
		for i := range from {
			d := keyOf(&from[i]) >> (shift & 63) & uint64(len(place)-1)
			to[place[d]] = from[i]
			place[d]++
		}
		from, to = to, from
	}
	if digits%2 == 1 {
		copy(keys, from)
	}
}

// splitInPlace orders keys by the splitBits bits from shift on, and returns where the keys of each digit begin. All
// keys agree in the bits above.
func splitInPlace[T Number](keys []T, shift int) (begins [1<<splitBits + 1]int) {
	digit := func(x *T) uint64 { return keyOf(x) >> (shift & 63) & (1<<splitBits - 1) }
	for i := range keys {
		begins[digit(&keys[i])+1]++
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
			for other := digit(&k); other != d; other = digit(&k) {
				keys[next[other]], k = k, keys[next[other]]
				next[other]++
			}
			keys[next[d]] = k
			next[d]++
		}
	}
	return begins
}

// sortFew sorts by key, pairs by their values too.
func sortFew[T Number](keys []T) {
	switch keys := any(keys).(type) {
	case []uint64:
		slices.Sort(keys)
	case []Pair:
		slices.SortFunc(keys, func(a, b Pair) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value)) })
	}
}

// distinct drops repeated numbers of an ascending array, in place; pairs of one key it sorts by their values.
func distinct[T Number](keys []T) []T {
	switch all := any(keys).(type) {
	case []uint64:
		return keys[:dropRepeats(all)]
	case []Pair:
		sortValues(all)
	}
	return keys
}

// dropRepeats returns how many distinct keys of an ascending array it leaves, at its beginning.
func dropRepeats(keys []uint64) int {
	if len(keys) == 0 {
		return 0
	}
	n := 1
	for _, k := range keys[1:] {
		keys[n] = k
		if k != keys[n-1] {
			n++
		}
	}
	return n
}

// sortValues orders pairs that are ascending by key by their values too.
func sortValues(pairs []Pair) {
	for begin := 0; begin < len(pairs); {
		end := begin + 1
		for end < len(pairs) && pairs[end].Key == pairs[begin].Key {
			end++
		}
		if end-begin > 1 {
			slices.SortFunc(pairs[begin:end], func(a, b Pair) int { return cmp.Compare(a.Value, b.Value) })
		}
		begin = end
	}
}
