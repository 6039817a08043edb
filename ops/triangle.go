package ops

import (
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

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

func (m *hubMaps) of(y rank) kernel.RankMap {
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
			set.Add(x)
		}
		return nil
	})
	if err != nil {
		return nil, joinErrors(err, m.free())
	}
	return m, nil
}

func (m *hubMaps) free() error { return m.bits.Free() }

// A triangleSearch finds the triangles x < y < z: of two neighbours x < y of z, are they neighbours? Where y is a hub,
// it goes through all y of a z, and looks in the map of y. For other y it goes through all z of a y, and looks which of
// the list of z are neighbours of y: the list of z is the shorter one.
type triangleSearch struct {
	graph   *rankedGraph
	maps    *hubMaps
	delta   []float64 // δ of the hubs
	units   *fixedSums
	workers []triangleScratch
}

type triangleScratch struct {
	marks kernel.RankSet   // neighbours of y before it; empty between nodes
	words []kernel.MapWord // of one z: the hubs in its list
	taken []uint32         // for each place, how many words the places before it fill
	ends  [searchedEnds]triangleEnd
	r     []float64 // of one z, by place in its list
	delta []float64 // likewise δ
}

// searchedEnds is how many ends z are read before the first is searched, so that their misses overlap.
const searchedEnds = 64

// A triangleEnd has the data that is read of a node z.
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
			marks: bitset.New[kernel.Rank](n),
			r:     make([]float64, hubs+kernel.ClosingSlack), delta: make([]float64, hubs+kernel.ClosingSlack),
			taken: make([]uint32, hubs), words: make([]kernel.MapWord, 0, kernel.MostMapWords(int64(hubs))),
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
		return s.ofHubs(ctx, worker, z, kernel.Below(list, z))
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
	list = kernel.Below(list, rank(s.maps.hubs))
	if len(list) < 2 {
		return nil
	}
	scratch := &s.workers[worker]
	r, delta := scratch.r[:len(list)+kernel.ClosingSlack], scratch.delta[:len(list)+kernel.ClosingSlack]
	for i, x := range list {
		delta[i] = s.delta[x]
	}
	scratch.words = kernel.AppendMapWords(scratch.words[:0], list, scratch.taken)
	clear(r)
	around, steps := 0.0, kernel.Pace(0)
	for j := 1; j < len(list); j += 2 {
		// Two rows at a time, of which the second may have the place of the first. If there is but one, it stands for both.
		k := min(j+1, len(list)-1)
		first := kernel.ClosingRow{Set: s.maps.of(list[j]), At: delta[j]}
		second := kernel.ClosingRow{Set: s.maps.of(list[k]), At: delta[k]}
		if k == j {
			second.At = 0
		}
		third, fourth := s.maps.of(list[min(j+2, len(list)-1)]), s.maps.of(list[min(j+3, len(list)-1)])
		taken := scratch.taken[k]
		ofFirst, ofSecond := kernel.CloseWedges(r, delta, scratch.words[:taken], int(taken), first, second, third, fourth)
		r[j] += ofFirst
		around += float64(delta[j] * ofFirst)
		if k > j {
			r[k] = ofSecond
			around += float64(delta[k] * ofSecond)
		}
		if err := steps.Walk(ctx, j+k); err != nil {
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

// searchSpan finds the triangles of which y is no hub and z is in a span.
func (s *triangleSearch) searchSpan(ctx context.Context, part span, before []uint32, progress *meter) (err error) {
	lists, err := s.graph.holdBefore(ctx, part, before)
	if err != nil {
		return err
	}
	defer func() { err = joinErrors(err, lists.free()) }()
	middle := span{rank(s.maps.hubs), part.hi}
	return s.graph.walk(ctx, middle, progress, func(ctx context.Context, worker int, y rank, list []rank) error {
		later := kernel.Below(above(list, max(y, part.lo-1)), part.hi)
		list = kernel.Below(list, y)
		if len(later) == 0 || len(list) == 0 {
			return nil
		}
		scratch := &s.workers[worker]
		for _, w := range list {
			scratch.marks.Add(w)
		}
		defer scratch.marks.RemoveAll(list)
		ofY, steps, atY := int64(0), kernel.Pace(0), s.graph.delta(y)
		for first := 0; first < len(later); first += searchedEnds {
			part := later[first:min(first+searchedEnds, len(later))]
			for i, z := range part {
				before := lists.of(z)
				kernel.Fetch(before)
				scratch.ends[i] = triangleEnd{before, s.graph.delta(z), atomic.LoadUint64(&s.units.common.Data[z])}
			}
			for i, z := range part {
				end := scratch.ends[i]
				ofZ := s.closeLater(worker, end.before, y, float64(float64(end.delta*fixedUnit)*atY))
				if ofZ != 0 {
					s.units.add(worker, z, ofZ)
					ofY += ofZ
				}
				if err := steps.Walk(ctx, len(end.before)); err != nil {
					return err
				}
			}
		}
		s.units.add(worker, y, ofY)
		return nil
	})
}

// closeLater adds the triangles of y and a node z with the neighbours list before it to their x, and returns the units
// of all. Lists go on beyond y, where none is marked.
func (s *triangleSearch) closeLater(worker int, list []rank, y rank, yz float64) (units int64) {
	marks := s.workers[worker].marks
	for len(list) > 0 && list[0] < y {
		part := list[:min(64, len(list))]
		for hits := kernel.LookUp(marks, part, nil); hits != 0; {
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
