//go:build !amd64 || purego

package kernel

// CloseWedges finds which ranks of a list, given by its words, are in a row. For each of those, at place i, it adds
// row.at to acc[i], and delta[i] to a sum. It does so for two rows, the first of which takes the first shared words,
// and returns their sums. delta and acc have ClosingSlack numbers more than the list.
func CloseWedges(
	acc, delta []float64, words []MapWord, shared int, first, second ClosingRow, _, _ RankMap,
) (ofFirst, ofSecond float64) {
	return closeWedgesPlainly(acc, delta, words, shared, first, second)
}

// LookUp finds which ranks of a list of at most 64 are in a set: place i of the list is bit 63 − i.
func LookUp(set RankSet, list, _ []Rank) uint64 { return lookUpPlainly(set, list) }

// Fetch asks for the first 128 of a list ahead, where it can.
func Fetch([]Rank) {}
