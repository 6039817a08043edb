//go:build !amd64 || purego

package ops

// closeWedges finds which ranks of a list, given by its words, are in a row. For each of those, at place i, it adds row.at to acc[i], and
// delta[i] to a sum. It does so for two rows, the first of which takes the first shared words, and returns their sums.
// delta and acc have closingSlack numbers more than the list.
func closeWedges(
	acc, delta []float64, words []mapWord, shared int, first, second closingRow, _, _ rankMap,
) (ofFirst, ofSecond float64) {
	return closeWedgesPlainly(acc, delta, words, shared, first, second)
}

// lookUp finds which ranks of a list of at most 64 are in a set: place i of the list is bit 63 − i.
func lookUp(set rankSet, list, _ []rank) uint64 { return lookUpPlainly(set, list) }

// fetch asks for the first 128 of a list ahead, where it can.
func fetch([]rank) {}
