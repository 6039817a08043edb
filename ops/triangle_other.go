//go:build !amd64 || purego

package ops

// closeWedges finds which ranks of a list are in a set. For each of those, at place i, it adds at to acc[i], and
// delta[i] to one of the sums; it returns these. delta and acc have closingSlack numbers more than the list.
func closeWedges(acc, delta []float64, row rankSet, list []rank, at float64) float64 {
	return closeWedgesPlainly(acc, delta, row, list, at)
}

// lookUp finds which ranks of a list are in a set: place i of the list is bit 63 − i mod 64 of found[i/64].
func lookUp(found []uint64, set rankSet, list, _ []rank) []uint64 {
	found = found[:(len(list)+63)/64]
	lookUpPlainly(found, set, list)
	return found
}
