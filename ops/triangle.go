package ops

import (
	"context"
	"math/bits"
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
	bits mapping[uint64]
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
	return m.bits.data[hubMapWords(int(y)):hubMapWords(int(y)+1)]
}

// mapHubs reads the lists of the hubs.
func (g *rankedGraph) mapHubs(ctx context.Context, hubs int) (*hubMaps, error) {
	words, err := mapMemory[uint64](hubMapWords(hubs))
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
		return nil, joined(err, m.free())
	}
	return m, nil
}

func (m *hubMaps) free() error { return m.bits.free() }

// A triangleSearch finds the triangles x < y < z from z: of two neighbours x < y of z, are they neighbours? It looks in
// the map of y where y is a hub, word by word where z has many neighbours before y. For other y it looks which of the
// list of y are neighbours of z.
type triangleSearch struct {
	graph   *rankedGraph
	maps    *hubMaps
	delta   []float64 // δ of the hubs
	units   *fixedSums
	workers []triangleScratch
}

type triangleScratch struct {
	marked rankSet // neighbours of z before it; empty between nodes
	closed []rank  // x of the triangles of one y
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
		s.workers[i].marked = newRankSet(n)
	}
	if s.units, err = newFixedSums(n, hubs, len(g.lists)); err != nil {
		return err
	}
	defer func() { err = joined(err, s.units.free()) }()
	if s.maps, err = g.mapHubs(ctx, hubs); err != nil {
		return err
	}
	defer func() { err = joined(err, s.maps.free()) }()
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

// ofHubs finds the triangles of z, with the neighbours before it in list, of which y is a hub.
func (s *triangleSearch) ofHubs(ctx context.Context, worker int, z rank, list []rank) error {
	list = below(list, rank(s.maps.hubs))
	if len(list) < 2 {
		return nil
	}
	scratch := &s.workers[worker]
	near, marked := s.units.near[worker], scratch.marked
	marked.addAll(list)
	defer marked.removeAll(list)
	if cap(scratch.closed) < len(list) {
		scratch.closed = make([]rank, 2*len(list))
	}
	delta := s.delta
	ofZ, walked, atZ := uint64(0), pace(0), s.graph.delta(z)*fixedUnit
	for j := 1; j < len(list); j++ {
		y := list[j]
		row := s.maps.of(y)
		ofY, yz := uint64(0), atZ*delta[y]
		if len(row) < j {
			marks := marked[:len(row)]
			for i, word := range row {
				for word &= marks[i]; word != 0; word &= word - 1 {
					x := i*64 + bits.TrailingZeros64(word)
					// Rounded one by one, so that the order of triangles does not change the sum.
					pi := uint64(roundUnits(float64(yz * delta[x])))
					near[x] += pi
					ofY += pi
				}
			}
		} else {
			closed, found := scratch.closed[:j], 0
			for _, x := range list[:j] {
				closed[found] = x
				found += int(row[x/64] >> (x % 64) & 1)
			}
			for _, x := range closed[:found] {
				pi := uint64(roundUnits(float64(yz * delta[x])))
				near[x] += pi
				ofY += pi
			}
		}
		near[y] += ofY
		ofZ += ofY
		if err := walked.walk(ctx, j); err != nil {
			return err
		}
	}
	s.units.add(worker, z, int64(ofZ))
	return nil
}

// searchSpan finds the triangles of which y is in a span of ranks that are no hubs.
func (s *triangleSearch) searchSpan(ctx context.Context, part span, job *diagonalJob) (err error) {
	held, err := s.graph.holdBefore(ctx, part, job.before.Data)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, held.free()) }()
	later := span{part.lo, rank(s.graph.walker.nodes)}
	return s.graph.walk(ctx, later, &job.progress, func(ctx context.Context, worker int, z rank, list []rank) error {
		list = below(list, z)
		middle := below(list, part.hi)
		middle = middle[len(below(middle, part.lo)):]
		if len(middle) == 0 || len(list) < 2 {
			return nil
		}
		marked := s.workers[worker].marked
		marked.addAll(list)
		defer marked.removeAll(list)
		near := s.units.near[worker]
		ofZ, walked, atZ := int64(0), pace(0), s.graph.delta(z)*fixedUnit
		for _, y := range middle {
			before := held.of(y)
			ofY, yz := int64(0), atZ*s.graph.delta(y)
			for _, x := range before {
				if !marked.has(x) {
					continue
				}
				pi := roundUnits(float64(yz * s.graph.delta(x)))
				if int(x) < len(near) {
					near[x] += uint64(pi)
				} else {
					s.units.add(worker, x, pi)
				}
				ofY += pi
			}
			s.units.add(worker, y, ofY)
			ofZ += ofY
			if err := walked.walk(ctx, len(before)); err != nil {
				return err
			}
		}
		s.units.add(worker, z, ofZ)
		return nil
	})
}
