package kernel

import (
	"math/bits"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/bitset"
)

// A Rank is the place of a node in the order in which triangles are found.
type Rank uint32

// Below returns the part of an ascending list that is less than x.
func Below(list []Rank, x Rank) []Rank {
	i, _ := slices.BinarySearch(list, x)
	return list[:i]
}

// A RankSet is a set of ranks.
type RankSet = bitset.Set[Rank]

// A RankMap is a set of ranks in which the first of 64 ranks has the highest bit.
type RankMap []uint64

// Add adds a rank.
func (m RankMap) Add(x Rank) { m[x/64] |= 1 << (63 - x%64) }

// A MapWord is those ranks of a list that are in one word of a RankMap, and at places of one block of 64.
type MapWord struct {
	Mask  uint64
	Index uint32
	Shift uint32 // how many places of the block follow; zero if none
}

// AppendMapWords appends the words of an ascending list. taken[i] is the number of words that places 0 to i-1 fill;
// taken may be nil.
func AppendMapWords(dst []MapWord, list []Rank, taken []uint32) []MapWord {
	last := uint32(0)
	for i, x := range list {
		if taken != nil {
			taken[i] = uint32(len(dst))
		}
		if index := uint32(x / 64); i%64 == 0 || index != last {
			dst, last = append(dst, MapWord{Index: index}), index
		}
		word := &dst[len(dst)-1]
		word.Mask |= 1 << (63 - x%64)
		word.Shift = uint32(63 - i%64)
	}
	return dst
}

// MostMapWords bounds the words of a list of ranks that are less than hubs: no block splits more than one.
func MostMapWords(hubs int64) int64 { return 2 * (hubs/64 + 1) }

// CloseWedges sums in so many lanes, and may touch so many places after a list.
const (
	closingLanes = 8
	ClosingSlack = 7
)

// A ClosingRow is the map of a node, and δ of it.
type ClosingRow struct {
	Set RankMap
	At  float64
}

// closeWedgesPlainly does what CloseWedges does, in Go. Place i is summed in lane i mod closingLanes.
func closeWedgesPlainly(
	acc, delta []float64, words []MapWord, shared int, first, second ClosingRow,
) (ofFirst, ofSecond float64) {
	return closeRowPlainly(acc, delta, words[:shared], first), closeRowPlainly(acc, delta, words, second)
}

func closeRowPlainly(acc, delta []float64, words []MapWord, row ClosingRow) float64 {
	var sums [closingLanes]float64
	block := 0
	for _, word := range words {
		last := block + 63 - int(word.Shift)
		for hits := row.Set[word.Index] & word.Mask; hits != 0; {
			shift := bits.LeadingZeros64(hits)
			hits &^= 1 << (63 - shift)
			i := last - bits.OnesCount64(word.Mask<<shift<<1)
			sums[i%closingLanes] += delta[i]
			acc[i] += row.At
		}
		if word.Shift == 0 {
			block += 64
		}
	}
	return sumLanes(&sums)
}

// lookUpPlainly does what LookUp does, in Go.
func lookUpPlainly(set RankSet, list []Rank) uint64 {
	hits := uint64(0)
	for i, x := range list {
		hits |= set[x/64] >> (x % 64) & 1 << (63 - i%64)
	}
	return hits
}

func sumLanes(s *[closingLanes]float64) float64 {
	return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
}
