//go:build !purego

package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// extractsBits tells whether the kernel of words can be used. It relies on an instruction that takes hundreds of cycles
// on some families of processors.
var extractsBits = vectorized && cpu.X86.HasBMI2 && !slowToExtract(family())

// slowToExtract reports the families of AMD and Hygon from Excavator to Zen 2. Those of Intel are 6, and later ones
// of AMD are greater.
func slowToExtract(family uint32) bool { return 0x15 <= family && family <= 0x18 }

// family returns the family of the processor.
func family() uint32

// closeWords is CloseWedges. It reads and writes up to ClosingSlack numbers after those of the list, in delta and acc.
//
//go:noescape
func closeWords(
	acc, delta *float64, words *MapWord, shared, all int, first, second, third, fourth *uint64, atFirst, atSecond float64,
) (ofFirst, ofSecond float64)

// closeWords goes from word to word by this size: with another this does not compile.
const _ = uint(16-unsafe.Sizeof(MapWord{})) + uint(unsafe.Sizeof(MapWord{})-16)

// CloseWedges finds which ranks of a list, given by its words, are in a row. For each of those, at place i, it adds
// row.at to acc[i], and delta[i] to a sum. It does so for two rows, the first of which takes the first shared words,
// and returns their sums. delta and acc have ClosingSlack numbers more than the list. The maps third and fourth, of
// which any may be nil, may be prefetched.
func CloseWedges(
	acc, delta []float64, words []MapWord, shared int, first, second ClosingRow, third, fourth RankMap,
) (ofFirst, ofSecond float64) {
	if !extractsBits || len(words) == 0 {
		return closeWedgesPlainly(acc, delta, words, shared, first, second)
	}
	if shared > 0 {
		_ = first.Set[words[shared-1].Index] // the last that is read; how long the list is, the caller knows
	}
	_ = second.Set[words[len(words)-1].Index]
	return closeWords(&acc[0], &delta[0], &words[0], shared, len(words),
		unsafe.SliceData(first.Set), unsafe.SliceData(second.Set), unsafe.SliceData(third), unsafe.SliceData(fourth),
		first.At, second.At)
}

// lookUpBlock looks up a list that is not empty. next is a list to prefetch.
//
//go:noescape
func lookUpBlock(set *uint64, list *Rank, count int, next *Rank) uint64

// LookUp finds which ranks of a list of at most 64 are in a set: place i of the list is bit 63 − i. The list that is
// looked up afterwards may be prefetched.
func LookUp(set RankSet, list, next []Rank) uint64 {
	if !vectorized || len(list) == 0 {
		return lookUpPlainly(set, list)
	}
	return lookUpBlock(&set[0], unsafe.SliceData(list), len(list), unsafe.SliceData(next))
}

// fetchRanks asks for the first four cache lines of a list, and for the four after them if it has more than 64 ranks.
//
//go:noescape
func fetchRanks(list *Rank, count int)

// Fetch asks for the first 128 of a list ahead.
func Fetch(list []Rank) { fetchRanks(unsafe.SliceData(list), len(list)) }
