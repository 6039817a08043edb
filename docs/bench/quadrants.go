package main

import "math/rand/v2"

// The chances of the four quadrants of R-MAT (Chakrabarti, Zhan, Faloutsos 2004), as Graph500 has them.
const (
	quadrantA = 0.57
	quadrantB = 0.19
	quadrantC = 0.19
	quadrantD = 1 - quadrantA - quadrantB - quadrantC
)

// levelsAtOnce is how many levels of the recursion one draw decides: 4^4 = 256 outcomes.
const levelsAtOnce = 4

// A quadrantTable draws the bits of both ends of an edge over some levels at once, by Walker's alias method with
// chances of 24 bits.
type quadrantTable struct {
	levels    int
	mask      uint32
	threshold []uint32 // outcome i stays where the upper 24 bits are below
	src, dst  []uint32 // at 2i the bits of outcome i, at 2i+1 those of its alias
}

// newQuadrantTable tabulates levels whose quadrants have the chances given.
func newQuadrantTable(levels int, chance [4]float64) *quadrantTable {
	size := 1 << (2 * levels)
	t := &quadrantTable{
		levels: levels, mask: uint32(size - 1),
		threshold: make([]uint32, size), src: make([]uint32, 2*size), dst: make([]uint32, 2*size),
	}
	scaled := make([]float64, size) // mean 1
	var small, large []int
	for i := range scaled {
		scaled[i] = float64(size)
		for level := range levels {
			scaled[i] *= chance[i>>(2*level)&3]
		}
		if scaled[i] < 1 {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	alias := make([]int, size)
	for i := range alias {
		alias[i] = i
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small, alias[s] = small[:len(small)-1], l
		if scaled[l] -= 1 - scaled[s]; scaled[l] < 1 {
			large, small = large[:len(large)-1], append(small, l)
		}
	}
	for i, j := range alias {
		t.threshold[i] = uint32(min(scaled[i], 1) * (1 << 24))
		t.src[2*i], t.dst[2*i] = ends(i, levels)
		t.src[2*i+1], t.dst[2*i+1] = ends(j, levels)
	}
	return t
}

// ends splits an outcome, two bits a level, into the bits of either end.
func ends(outcome, levels int) (src, dst uint32) {
	for level := range levels {
		quadrant := uint32(outcome>>(2*level)) & 3
		src |= quadrant >> 1 << level
		dst |= quadrant & 1 << level
	}
	return src, dst
}

// An edgeSampler draws the edges of an R-MAT graph over [0, nodes): on the next power of two, and again where an
// end falls outside, so that non-powers have the distribution of R-MAT on what is left of it.
type edgeSampler struct {
	nodes  uint32
	tables []*quadrantTable // from the highest bits to the lowest
}

// newEdgeSampler makes a sampler of 2^scale vertices, of which the first nodes are used. Over the lowest like
// levels the quadrants are a+h, b-h, c-h, d+h: the chances of either end stay what they are, and with them the
// degrees, but both ends agree in these bits more often.
func newEdgeSampler(nodes, scale, like int, h float64) *edgeSampler {
	s := &edgeSampler{nodes: uint32(nodes)}
	plain := [4]float64{quadrantA, quadrantB, quadrantC, quadrantD}
	if h == 0 {
		like = 0
	}
	add := func(levels int, chance [4]float64) {
		for levels > 0 {
			at := min(levels, levelsAtOnce)
			s.tables = append(s.tables, newQuadrantTable(at, chance))
			levels -= at
		}
	}
	add(scale-like, plain)
	add(like, [4]float64{quadrantA + h, quadrantB - h, quadrantC - h, quadrantD + h})
	return s
}

func (s *edgeSampler) draw(r *rand.PCG) (src, dst uint32) {
	for {
		var random uint64
		src, dst = 0, 0
		for i, t := range s.tables {
			if i&1 == 0 {
				random = r.Uint64()
			} else {
				random >>= 32
			}
			low := uint32(random)
			outcome := low & t.mask
			at := 2 * outcome
			if low>>8 >= t.threshold[outcome] {
				at++
			}
			src = src<<t.levels | t.src[at]
			dst = dst<<t.levels | t.dst[at]
		}
		if src < s.nodes && dst < s.nodes {
			return src, dst
		}
	}
}
