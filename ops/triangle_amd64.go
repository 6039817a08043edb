//go:build !purego

package ops

import "unsafe"

// closeBlocks is closeWedges of lists that are not empty. It reads and writes up to closingSlack numbers behind those of
// the list, in delta and acc.
//
//go:noescape
func closeBlocks(sums *[closingLanes]float64, acc, delta *float64, row *uint64, list *rank, count int, at float64)

// closeWedges finds which ranks of a list are in a set. For each of those, at place i, it adds at to acc[i], and
// delta[i] to one of the sums; it returns these. delta and acc have closingSlack numbers more than the list.
func closeWedges(acc, delta []float64, row rankSet, list []rank, at float64) float64 {
	if !vectorized || len(list) == 0 {
		return closeWedgesPlainly(acc, delta, row, list, at)
	}
	_, _ = acc[len(list)+closingSlack-1], delta[len(list)+closingSlack-1]
	var sums [closingLanes]float64
	closeBlocks(&sums, &acc[0], &delta[0], &row[0], unsafe.SliceData(list), len(list), at)
	return sumLanes(&sums)
}

// lookUpBlocks is lookUp of lists that are not empty. next is a list to prefetch.
//
//go:noescape
func lookUpBlocks(found *uint64, set *uint64, list *rank, count int, next *rank)

// lookUp finds which ranks of a list are in a set: place i of the list is bit 63 − i mod 64 of found[i/64]. The list that
// is looked up afterwards may be prefetched.
func lookUp(found []uint64, set rankSet, list, next []rank) []uint64 {
	found = found[:(len(list)+63)/64]
	if !vectorized {
		lookUpPlainly(found, set, list)
	} else if len(list) > 0 {
		lookUpBlocks(&found[0], &set[0], unsafe.SliceData(list), len(list), unsafe.SliceData(next))
	}
	return found
}
