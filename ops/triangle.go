package ops

import (
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A rankSet is a set of ranks, one bit each.
type rankSet []uint64

func newRankSet(n int) rankSet  { return make(rankSet, (n+63)/64) }
func (s rankSet) add(x rank)    { s[x/64] |= 1 << (x % 64) }
func (s rankSet) remove(x rank) { s[x/64] &^= 1 << (x % 64) }
func (s rankSet) addAll(list []rank) {
	for _, x := range list {
		s.add(x)
	}
}
func (s rankSet) removeAll(list []rank) {
	for _, x := range list {
		s.remove(x)
	}
}

// A rankMap is a set of ranks in which the first of 64 ranks has the highest bit.
type rankMap []uint64

func (m rankMap) add(x rank) { m[x/64] |= 1 << (63 - x%64) }

// A mapWord is those ranks of a list that are in one word of a rankMap, and at places of one block of 64.
type mapWord struct {
	mask  uint64
	index uint32
	shift uint32 // how many places of the block follow; zero if none
}

// appendMapWords appends the words of an ascending list. taken[i] is the number of words that places 0 to i-1 fill; taken may be nil.
func appendMapWords(dst []mapWord, list []rank, taken []uint32) []mapWord {
	last := uint32(0)
	for i, x := range list {
		if taken != nil {
			taken[i] = uint32(len(dst))
		}
		if index := uint32(x / 64); i%64 == 0 || index != last {
			dst, last = append(dst, mapWord{index: index}), index
		}
		word := &dst[len(dst)-1]
		word.mask |= 1 << (63 - x%64)
		word.shift = uint32(63 - i%64)
	}
	return dst
}

// mostMapWords bounds the words of a list of ranks that are less than hubs: no block splits more than one.
func mostMapWords(hubs int64) int64 { return 2 * (hubs/64 + 1) }

// hubMaps holds for the first ranks y, the hubs, the set of their neighbours x < y, in whole words of x ≤ y.
type hubMaps struct {
	hubs int
	bits offheap.Array[uint64]
}

// hubMapWords is the words before the map of y, so that all of them are hubMapWords(hubs).
func hubMapWords(y int) int {
	whole := y / 64
	return y + whole*(y-32*(whole+1))
}

func (m *hubMaps) of(y rank) rankMap {
	return m.bits.Data[hubMapWords(int(y)):hubMapWords(int(y)+1)]
}

// mapHubs reads the lists of the hubs.
func (g *rankedGraph) mapHubs(ctx context.Context, hubs int) (*hubMaps, error) {
	words, err := offheap.New[uint64](hubMapWords(hubs))
	if err != nil {
		return nil, err
	}
	m := &hubMaps{hubs: hubs, bits: words}
	err = g.walk(ctx, span{0, rank(hubs)}, nil, func(_ context.Context, _ int, y rank, list []rank) error {
		set := m.of(y)
		for _, x := range list {
			if x >= y {
				break
			}
			set.add(x)
		}
		return nil
	})
	if err != nil {
		return nil, joinErrors(err, m.free())
	}
	return m, nil
}

func (m *hubMaps) free() error { return m.bits.Free() }

// A triangleSearch finds the triangles x < y < z: of two neighbours x < y of z, are they neighbours? Where y is a hub, it
// goes through all y of a z, and looks in the map of y. For other y it goes through all z of a y, and looks which of the
// list of z are neighbours of y: the list of z is the shorter one.
type triangleSearch struct {
	graph   *rankedGraph
	maps    *hubMaps
	delta   []float64 // δ of the hubs
	units   *fixedSums
	workers []triangleScratch
}

type triangleScratch struct {
	marks rankSet   // neighbours of y before it; empty between nodes
	words []mapWord // of one z: the hubs in its list
	taken []uint32  // for each place, how many words the places before it fill
	ends  [searchedEnds]triangleEnd
	r     []float64 // of one z, by place in its list
	delta []float64 // likewise δ
}

// searchedEnds is how many ends z are read before the first is searched, so that their misses overlap.
const searchedEnds = 64

// A triangleEnd is what is read of a node z.
type triangleEnd struct {
	before []rank // its neighbours
	delta  float64
	sum    uint64 // so that it is in the cache when something is added
}

// returns3 is 2 Σ π over the triangles x < y < z of a node.
func (f *closedForms) returns3(ctx context.Context, out []float64) (err error) {
	g := f.graph
	n, hubs := g.walker.nodes, g.survey.hubs()
	s := &triangleSearch{graph: g, delta: make([]float64, hubs), workers: make([]triangleScratch, len(g.lists))}
	for x := range s.delta {
		s.delta[x] = g.delta(rank(x))
	}
	for i := range s.workers {
		s.workers[i] = triangleScratch{
			marks: newRankSet(n), r: make([]float64, hubs+closingSlack), delta: make([]float64, hubs+closingSlack),
			taken: make([]uint32, hubs), words: make([]mapWord, 0, mostMapWords(int64(hubs))),
		}
	}
	if s.units, err = newFixedSums(n, hubs, len(g.lists)); err != nil {
		return err
	}
	defer func() { err = joinErrors(err, s.units.free()) }()
	if s.maps, err = g.mapHubs(ctx, hubs); err != nil {
		return err
	}
	defer func() { err = joinErrors(err, s.maps.free()) }()
	err = g.walk(ctx, span{0, rank(n)}, f.progress, func(ctx context.Context, worker int, z rank, list []rank) error {
		return s.ofHubs(ctx, worker, z, below(list, z))
	})
	if err != nil {
		return err
	}
	for _, part := range f.spans() {
		if err := s.searchSpan(ctx, part, f.before.Data, f.progress); err != nil {
			return err
		}
	}
	s.units.settle()
	for v := range out {
		out[v] = 2 * s.units.at(g.rank(kv.NodeID(v)))
	}
	return nil
}

// ofHubs finds the triangles of z, with the neighbours before it in list, of which y is a hub. With B the adjacency of
// the hubs in list, all that is to be known is r = B δ: the triangles of z and x weigh δ_z δ_x r_x. It sums r in
// ascending y and rounds once for each x, so that neither the workers nor their order show.
func (s *triangleSearch) ofHubs(ctx context.Context, worker int, z rank, list []rank) error {
	list = below(list, rank(s.maps.hubs))
	if len(list) < 2 {
		return nil
	}
	scratch := &s.workers[worker]
	r, delta := scratch.r[:len(list)+closingSlack], scratch.delta[:len(list)+closingSlack]
	for i, x := range list {
		delta[i] = s.delta[x]
	}
	scratch.words = appendMapWords(scratch.words[:0], list, scratch.taken)
	clear(r)
	around, steps := 0.0, pace(0)
	for j := 1; j < len(list); j += 2 {
		// Two rows at a time, of which the second may have the place of the first. If there is but one, it stands for both.
		k := min(j+1, len(list)-1)
		first, second := closingRow{s.maps.of(list[j]), delta[j]}, closingRow{s.maps.of(list[k]), delta[k]}
		if k == j {
			second.at = 0
		}
		third, fourth := s.maps.of(list[min(j+2, len(list)-1)]), s.maps.of(list[min(j+3, len(list)-1)])
		taken := scratch.taken[k]
		ofFirst, ofSecond := closeWedges(r, delta, scratch.words[:taken], int(taken), first, second, third, fourth)
		r[j] += ofFirst
		around += float64(delta[j] * ofFirst)
		if k > j {
			r[k] = ofSecond
			around += float64(delta[k] * ofSecond)
		}
		if err := steps.walk(ctx, j+k); err != nil {
			return err
		}
	}
	near, atZ := s.units.near[worker], s.graph.delta(z)*fixedUnit
	for i, x := range list {
		near[x] += uint64(roundUnits(float64(float64(atZ*delta[i]) * r[i])))
	}
	s.units.add(worker, z, roundUnits(float64(atZ*around)))
	return nil
}

// closeWedges sums in so many lanes, and may touch so many places behind a list.
const (
	closingLanes = 8
	closingSlack = 7
)

// A closingRow is the map of a node, and δ of it.
type closingRow struct {
	set rankMap
	at  float64
}

// closeWedgesPlainly is closeWedges for every processor. Place i is summed in lane i mod closingLanes.
func closeWedgesPlainly(acc, delta []float64, words []mapWord, shared int, first, second closingRow) (ofFirst, ofSecond float64) {
	return closeRowPlainly(acc, delta, words[:shared], first), closeRowPlainly(acc, delta, words, second)
}

func closeRowPlainly(acc, delta []float64, words []mapWord, row closingRow) float64 {
	var sums [closingLanes]float64
	block := 0
	for _, word := range words {
		last := block + 63 - int(word.shift)
		for hits := row.set[word.index] & word.mask; hits != 0; {
			shift := bits.LeadingZeros64(hits)
			hits &^= 1 << (63 - shift)
			i := last - bits.OnesCount64(word.mask<<shift<<1)
			sums[i%closingLanes] += delta[i]
			acc[i] += row.at
		}
		if word.shift == 0 {
			block += 64
		}
	}
	return sumLanes(&sums)
}

// lookUpPlainly is lookUp for every processor.
func lookUpPlainly(set rankSet, list []rank) uint64 {
	hits := uint64(0)
	for i, x := range list {
		hits |= set[x/64] >> (x % 64) & 1 << (63 - i%64)
	}
	return hits
}

func sumLanes(s *[closingLanes]float64) float64 {
	return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
}

// searchSpan finds the triangles of which y is no hub and z is in a span.
func (s *triangleSearch) searchSpan(ctx context.Context, part span, before []uint32, progress *meter) (err error) {
	lists, err := s.graph.holdBefore(ctx, part, before)
	if err != nil {
		return err
	}
	defer func() { err = joinErrors(err, lists.free()) }()
	middle := span{rank(s.maps.hubs), part.hi}
	return s.graph.walk(ctx, middle, progress, func(ctx context.Context, worker int, y rank, list []rank) error {
		later := below(above(list, max(y, part.lo-1)), part.hi)
		list = below(list, y)
		if len(later) == 0 || len(list) == 0 {
			return nil
		}
		scratch := &s.workers[worker]
		scratch.marks.addAll(list)
		defer scratch.marks.removeAll(list)
		ofY, steps, atY := int64(0), pace(0), s.graph.delta(y)
		for first := 0; first < len(later); first += searchedEnds {
			part := later[first:min(first+searchedEnds, len(later))]
			for i, z := range part {
				before := lists.of(z)
				fetch(before)
				scratch.ends[i] = triangleEnd{before, s.graph.delta(z), atomic.LoadUint64(&s.units.common.Data[z])}
			}
			for i, z := range part {
				end := scratch.ends[i]
				ofZ := s.closeLater(worker, end.before, y, float64(float64(end.delta*fixedUnit)*atY))
				if ofZ != 0 {
					s.units.add(worker, z, ofZ)
					ofY += ofZ
				}
				if err := steps.walk(ctx, len(end.before)); err != nil {
					return err
				}
			}
		}
		s.units.add(worker, y, ofY)
		return nil
	})
}

// closeLater adds the triangles of y and a node z with the neighbours list before it to their x, and returns the units of
// all. Lists go on beyond y, where none is marked.
func (s *triangleSearch) closeLater(worker int, list []rank, y rank, yz float64) (units int64) {
	marks := s.workers[worker].marks
	for len(list) > 0 && list[0] < y {
		part := list[:min(64, len(list))]
		for hits := lookUp(marks, part, nil); hits != 0; {
			place := bits.LeadingZeros64(hits)
			hits &^= 1 << (63 - place)
			x := part[place]
			pi := roundUnits(float64(yz * s.deltaOf(x)))
			s.units.add(worker, x, pi)
			units += pi
		}
		list = list[len(part):]
	}
	return units
}

// deltaOf is δ of a rank, without a division where it is a hub.
func (s *triangleSearch) deltaOf(x rank) float64 {
	if int(x) < len(s.delta) {
		return s.delta[x]
	}
	return s.graph.delta(x)
}
