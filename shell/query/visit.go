package query

import (
	"iter"
	"slices"
)

// A visit is the number of a node, or of a place, in its upper half, and the number of the row that is read there in its lower.
type visit uint64

func newVisit(of uint32, row int) visit { return visit(of)<<32 | visit(uint32(row)) }

func (v visit) of() uint32 { return uint32(v >> 32) }
func (v visit) row() int   { return int(uint32(v)) }

// eachVisit yields what visits are of.
func eachVisit[N ~uint32 | ~int](visits []visit) iter.Seq[N] {
	return func(yield func(N) bool) {
		for _, v := range visits {
			if !yield(N(v.of())) {
				return
			}
		}
	}
}

const (
	digitBits = 11 // of a number that visits are sorted by at a time

	// manyVisits is from how many visits on comparisons take longer.
	manyVisits = 512
)

// sortVisits sorts visits by what they are of.
func sortVisits(visits []visit) {
	if slices.IsSorted(visits) {
		return
	}
	if len(visits) < manyVisits {
		slices.Sort(visits)
		return
	}
	most := visit(0)
	for _, v := range visits {
		most = max(most, v)
	}
	from, to := visits, make([]visit, len(visits))
	for shift := 32; most>>shift > 0; shift += digitBits {
		var next [1 << digitBits]int
		for _, v := range from {
			next[v>>shift%(1<<digitBits)]++
		}
		begin := 0
		for digit, count := range next {
			next[digit] = begin
			begin += count
		}
		for _, v := range from {
			digit := v >> shift % (1 << digitBits)
			to[next[digit]] = v
			next[digit]++
		}
		from, to = to, from
	}
	copy(visits, from)
}
