package spill

import "slices"

// sortUint64 sorts keys by their bytes, least significant first, and returns the scratch it used, which it grows to the
// length of keys. Bytes in which all keys agree cost nothing: the upper halves of node numbers mostly do.
func sortUint64(keys, scratch []uint64) []uint64 {
	const few = 1 << 10
	if len(keys) < few || slices.IsSorted(keys) {
		slices.Sort(keys)
		return scratch
	}
	if cap(scratch) < len(keys) {
		scratch = make([]uint64, len(keys))
	}
	from, to := keys, scratch[:len(keys)]
	var counts [8][256]int
	for _, k := range keys {
		for b := range 8 {
			counts[b][byte(k>>(8*b))]++
		}
	}
	swapped := false
	for b := range 8 {
		count, shift := &counts[b], 8*b
		if count[byte(keys[0]>>shift)] == len(keys) {
			continue
		}
		place := 0
		for i, n := range count {
			count[i] = place
			place += n
		}
		for _, k := range from {
			digit := byte(k >> shift)
			to[count[digit]] = k
			count[digit]++
		}
		from, to, swapped = to, from, !swapped
	}
	if swapped {
		copy(keys, from)
	}
	return scratch
}
