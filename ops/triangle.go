package ops

import (
	"context"
	"math/bits"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
)

// A rankSet is a set of ranks, one bit each.
type rankSet []uint64

func newRankSet(n int) rankSet    { return make(rankSet, (n+63)/64) }
func (s rankSet) add(x rank)      { s[x/64] |= 1 << (x % 64) }
func (s rankSet) remove(x rank)   { s[x/64] &^= 1 << (x % 64) }
func (s rankSet) has(x rank) bool { return s[x/64]&(1<<(x%64)) != 0 }
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

// hubMaps holds for the first ranks y, the hubs, the set of their neighbours x < y, in y bits each.
type hubMaps struct {
	hubs int
	bits offheap.Array[uint64]
}

// hubMapWords is the words before the map of y, so that all of them are hubMapWords(hubs).
func hubMapWords(y int) int {
	if y == 0 {
		return 0
	}
	whole, rest := (y-1)/64, (y-1)%64 // y-1 maps of 1 to y-1 bits
	return 32*whole*(whole+1) + rest*(whole+1)
}

func (m *hubMaps) of(y rank) rankSet {
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

// A triangleSearch finds the triangles x < y < z from z: of two neighbours x < y of z, are they neighbours? It looks in
// the map of y where y is a hub. For other y it looks which of the list of y are neighbours of z.
type triangleSearch struct {
	graph   *rankedGraph
	maps    *hubMaps
	delta   []float64 // δ of the hubs
	units   *fixedSums
	workers []triangleScratch
}

type triangleScratch struct {
	marks rankSet   // neighbours of z before it; empty between nodes
	hits  []uint64  // closed triangles of one y, by place in the list before it
	r     []float64 // of one z, by place in its list
	delta []float64 // likewise δ
}

// returns3 is 2 Σ π over the triangles x < y < z of a node.
func (job *diagonalJob) returns3(ctx context.Context) (err error) {
	g := job.graph
	n, hubs := g.walker.nodes, g.survey.hubs()
	s := &triangleSearch{graph: g, delta: make([]float64, hubs), workers: make([]triangleScratch, len(g.lists))}
	for x := range s.delta {
		s.delta[x] = g.delta(rank(x))
	}
	for i := range s.workers {
		s.workers[i] = triangleScratch{
			marks: newRankSet(n), r: make([]float64, hubs+closingSlack), delta: make([]float64, hubs+closingSlack),
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
	err = g.walk(ctx, span{0, rank(n)}, &job.progress, func(ctx context.Context, worker int, z rank, list []rank) error {
		return s.ofHubs(ctx, worker, z, below(list, z))
	})
	if err != nil {
		return err
	}
	for _, part := range job.spans() {
		if err := s.searchSpan(ctx, part, job); err != nil {
			return err
		}
	}
	s.units.settle()
	return job.keep(3, func(v rank) float64 { return 2 * s.units.at(v) })
}

// spans cuts the ranks that are no hubs so that the neighbours before them fit into the capacity.
func (job *diagonalJob) spans() []span {
	return heldSpans(job.before.Data, job.graph.survey.hubs(), job.capacity)
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
	r[0] = 0
	around, steps := 0.0, pace(0)
	for j := 1; j < len(list); j++ {
		r[j] = closeWedges(r, delta, s.maps.of(list[j]), list[:j], delta[j])
		around += float64(delta[j] * r[j])
		if err := steps.walk(ctx, j); err != nil {
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

// closeWedgesPlainly is closeWedges for every processor. Place i is summed in lane i mod closingLanes.
func closeWedgesPlainly(acc, delta []float64, row rankSet, list []rank, at float64) float64 {
	var sums [closingLanes]float64
	for first := 0; first < len(list); first += 64 {
		for hits := lookUpBlock(row, list[first:min(first+64, len(list))]); hits != 0; {
			i := first + bits.LeadingZeros64(hits)
			hits &^= 1 << (63 - i%64)
			sums[i%closingLanes] += delta[i]
			acc[i] += at
		}
	}
	return sumLanes(&sums)
}

// lookUpPlainly is lookUp for every processor.
func lookUpPlainly(hits []uint64, set rankSet, list []rank) {
	for i := range hits {
		hits[i] = lookUpBlock(set, list[64*i:min(64*i+64, len(list))])
	}
}

// lookUpBlock finds which of at most 64 ranks are in a set, from the highest bit on.
func lookUpBlock(set rankSet, list []rank) uint64 {
	hits := uint64(0)
	for i, x := range list {
		hits |= set[x/64] >> (x % 64) & 1 << (63 - i%64)
	}
	return hits
}

func sumLanes(s *[closingLanes]float64) float64 {
	return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
}

// searchSpan finds the triangles of which y is in a span of ranks that are no hubs.
func (s *triangleSearch) searchSpan(ctx context.Context, part span, job *diagonalJob) (err error) {
	lists, err := s.graph.holdBefore(ctx, part, job.before.Data)
	if err != nil {
		return err
	}
	defer func() { err = joinErrors(err, lists.free()) }()
	longest := uint32(0)
	for _, length := range job.before.Data[part.lo:part.hi] {
		longest = max(longest, length)
	}
	for i := range s.workers {
		s.workers[i].hits = make([]uint64, (longest+63)/64)
	}
	later := span{part.lo, rank(s.graph.walker.nodes)}
	return s.graph.walk(ctx, later, &job.progress, func(ctx context.Context, worker int, z rank, list []rank) error {
		list = below(list, z)
		middle := below(list, part.hi)
		middle = middle[len(below(middle, part.lo)):]
		if len(middle) == 0 || len(list) < 2 {
			return nil
		}
		marks := s.workers[worker].marks
		marks.addAll(list)
		defer marks.removeAll(list)
		hits := s.workers[worker].hits
		ofZ, steps, atZ := int64(0), pace(0), s.graph.delta(z)*fixedUnit
		for j, y := range middle {
			before := lists.of(y)
			ofY, yz := int64(0), atZ*s.graph.delta(y)
			for block, mask := range lookUp(hits, marks, before, lists.of(middle[min(j+1, len(middle)-1)])) {
				for mask != 0 {
					place := bits.LeadingZeros64(mask)
					mask &^= 1 << (63 - place)
					x := before[64*block+place]
					pi := roundUnits(float64(yz * s.deltaOf(x)))
					s.units.add(worker, x, pi)
					ofY += pi
				}
			}
			if ofY != 0 {
				s.units.add(worker, y, ofY)
				ofZ += ofY
			}
			if err := steps.walk(ctx, len(before)); err != nil {
				return err
			}
		}
		s.units.add(worker, z, ofZ)
		return nil
	})
}

// deltaOf is δ of a rank, without a division where it is a hub.
func (s *triangleSearch) deltaOf(x rank) float64 {
	if int(x) < len(s.delta) {
		return s.delta[x]
	}
	return s.graph.delta(x)
}
