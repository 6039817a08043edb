//go:build !amd64 || purego

package ops

// closeWedges finds which ranks of a list, given by its words, are in a row. For each of those, at place i, it adds at to
// acc[i], and delta[i] to one of the sums; it returns these. delta and acc have closingSlack numbers more than the list.
func closeWedges(acc, delta []float64, row, _ rankMap, words []mapWord, at float64) float64 {
	return closeWedgesPlainly(acc, delta, row, words, at)
}

// lookUp finds which ranks of a list of at most 64 are in a set: place i of the list is bit 63 − i.
func lookUp(set rankSet, list, _ []rank) uint64 { return lookUpPlainly(set, list) }
