package ops

import (
	"context"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A stripe is a span of ranks w in which the paths x–u–w are summed at a time. The first stripe is the nodes that most
// paths lead to, and its sums fit a processor's cache. Stripes depend on nothing but the degrees.
const (
	firstStripe   = 1 << 15 // ranks; every later stripe is at most as wide as all before it
	widestStripe  = 1 << 23 // ranks
	stripeEntries = 1 << 26 // entries in the lists of a stripe, unless one node has more
)

// stripeBytes is what a worker holds a rank of the stripe: a sum of δ, what is found there, and a place in a list.
const stripeBytes = 8 + 8 + 4

// stripes cuts all ranks.
func (g *rankedGraph) stripes() []span {
	var out []span
	n := len(g.degrees)
	for first := 0; first < n; {
		end, entries := first, int64(0)
		for widest := min(n, first+min(max(first, firstStripe), widestStripe)); end < widest; end++ {
			if entries += int64(g.degrees[end]); entries > stripeEntries && end > first {
				break
			}
		}
		out = append(out, span{rank(first), rank(end)})
		first = end
	}
	return out
}

// With x the least rank of a 4-cycle x–u–w–u', s_w = Σ δ_u over the paths x–u–w with u, w > x. The cycles of x and w
// are the pairs of different u; all pairs are s_w², those of the same u are known from the lists of single nodes. So
// over all x and w
//
//	at x and w:  2 Σ π = Σ δ_x δ_w s_w² − Σ over paths δ_x δ_w δ_u²
//	at u:        2 Σ π = 2 δ_u Σ δ_x δ_w s_w − 2 δ_u² Σ over paths δ_x δ_w
type fourSearch struct {
	graph   *rankedGraph
	stripe  span
	lists   *heldLists
	delta   offheap.Array[float64] // of the stripe, by w less its first
	units   *fixedSums
	workers []fourScratch
}

// Arrays are by w less the stripe's first.
type fourScratch struct {
	sums    offheap.Array[float64] // s_w, then units of δ_x δ_w s_w as bits; zero between nodes
	perNode offheap.Array[uint64]  // units of w; zero between stripes
	nonzero []rank
	starts  []uint32 // where the paths of a u begin in its list
}

func (s *fourScratch) free() error { return joinErrors(s.sums.Free(), s.perNode.Free()) }

// returns4 is the walks to a neighbour and back twice, the walks to a node at two steps and back the same way, and
// 2 Σ π over the 4-cycles of a node.
func (job *diagonalJob) returns4(ctx context.Context) (err error) {
	g := job.graph
	n := g.walker.nodes
	stripes := g.stripes()
	widest := 0
	for _, s := range stripes {
		widest = max(widest, s.len())
	}
	s := &fourSearch{graph: g, workers: make([]fourScratch, len(g.lists))}
	defer func() { err = joinErrors(err, s.free()) }()
	if err := s.allocate(widest); err != nil {
		return fmt.Errorf("diagonal: sums of %d nodes: %w", widest, err)
	}
	if s.units, err = newFixedSums(n, g.survey.hubs(), len(g.lists)); err != nil {
		return err
	}
	defer func() { err = joinErrors(err, s.units.free()) }()
	for _, stripe := range stripes {
		if err := s.searchStripe(ctx, stripe, &job.progress); err != nil {
			return err
		}
	}
	if err := s.takeSamePaths(ctx, &job.progress); err != nil {
		return err
	}
	s.units.settle()
	return job.keepSums(ctx, 4, func(_, u kv.NodeID, atV float64) float64 {
		d := inverse(g.survey.degrees[u])
		return d * (job.results[2].Data[u] - float64(d*atV))
	}, func(v kv.NodeID, atV, sum float64) float64 {
		back := job.results[2].Data[v]
		return float64(atV*sum) + float64(back*back) + s.units.at(g.rank(v))
	})
}

func (s *fourSearch) allocate(width int) (err error) {
	if s.delta, err = offheap.New[float64](width); err != nil {
		return err
	}
	for i := range s.workers {
		if s.workers[i].sums, err = offheap.New[float64](width); err != nil {
			return err
		}
		if s.workers[i].perNode, err = offheap.New[uint64](width); err != nil {
			return err
		}
	}
	return nil
}

func (s *fourSearch) free() error {
	err := s.delta.Free()
	for i := range s.workers {
		err = joinErrors(err, s.workers[i].free())
	}
	return err
}

// searchStripe sums the paths to the ranks of one stripe. Only ranks before its end have some.
func (s *fourSearch) searchStripe(ctx context.Context, stripe span, progress *meter) (err error) {
	if s.lists, err = s.graph.holdStripe(ctx, stripe); err != nil {
		return err
	}
	defer func() { err = joinErrors(err, s.lists.free()) }()
	s.stripe = stripe
	for w := range stripe.len() {
		s.delta.Data[w] = s.graph.delta(stripe.lo + rank(w))
	}
	if err := s.graph.walk(ctx, span{0, stripe.hi}, progress, s.search); err != nil {
		return err
	}
	for i := range s.workers {
		perNode := s.workers[i].perNode.Data[:stripe.len()]
		for w, units := range perNode {
			s.units.add(i, stripe.lo+rank(w), int64(units))
		}
		clear(perNode)
	}
	return nil
}

func (s *fourSearch) search(ctx context.Context, worker int, x rank, list []rank) error {
	list = above(list, x)
	count := 0
	for _, u := range list {
		count += len(s.lists.of(u))
	}
	if count == 0 {
		return nil
	}
	scratch := &s.workers[worker]
	first, inside := 0, x >= s.stripe.lo
	if inside {
		first = int(x-s.stripe.lo) + 1
		scratch.starts = scratch.starts[:0]
	}
	// What most ranks of the stripe have paths to is looked for afterwards; else it is noted.
	dense := count > s.stripe.len()-first
	sums := scratch.sums.Data[:s.stripe.len()]
	defer func() {
		if dense {
			clear(sums[first:])
		} else {
			for _, w := range scratch.nonzero {
				sums[w] = 0
			}
		}
		scratch.nonzero = scratch.nonzero[:0]
	}()
	steps := pace(0)
	for _, u := range list {
		d, paths := s.graph.delta(u), s.lists.of(u)
		if inside {
			later := above(paths, x-s.stripe.lo)
			scratch.starts = append(scratch.starts, uint32(len(paths)-len(later)))
			paths = later
		}
		if dense {
			for _, w := range paths {
				sums[w] += d
			}
		} else {
			scratch.nonzero = addPaths(sums, scratch.nonzero, paths, d)
		}
		if err := steps.walk(ctx, len(paths)); err != nil {
			return err
		}
	}
	s.settle(worker, x, first, dense)
	for i, u := range list {
		paths := s.lists.of(u)
		if inside {
			paths = paths[scratch.starts[i]:]
		}
		ofU := uint64(0)
		for _, w := range paths {
			ofU += math.Float64bits(sums[w])
		}
		// Rounded once a stripe, and stripes are the same always.
		s.units.add(worker, u, int64(math.RoundToEven(2*s.graph.delta(u)*float64(ofU))))
		if err := steps.walk(ctx, len(paths)); err != nil {
			return err
		}
	}
	return nil
}

// addPaths adds d to the sums of paths, and appends to nonzero those that were zero.
func addPaths(sums []float64, nonzero, paths []rank, d float64) []rank {
	before := len(nonzero)
	if room := before + len(paths); room > cap(nonzero) {
		grown := make([]rank, room, 2*room)
		copy(grown, nonzero)
		nonzero = grown
	}
	nonzero = nonzero[:before+len(paths)]
	for _, w := range paths {
		sum := sums[w]
		nonzero[before] = w
		next := before + 1
		if math.Float64bits(sum) != 0 {
			next = before
		}
		before = next
		sums[w] = sum + d
	}
	return nonzero[:before]
}

// settle adds δ_x δ_w s_w² to x and every w, and leaves the units of δ_x δ_w s_w in place of s_w.
func (s *fourSearch) settle(worker int, x rank, first int, dense bool) {
	scratch := &s.workers[worker]
	width := s.stripe.len()
	sums, perNode, delta := scratch.sums.Data[:width], scratch.perNode.Data[:width], s.delta.Data[:width]
	atX, ofX := s.graph.delta(x)*fixedUnit, uint64(0)
	if dense {
		for w := first; w < width; w++ {
			pairs := settlePair(atX*delta[w], &sums[w])
			perNode[w] += pairs
			ofX += pairs
		}
	} else {
		for _, w := range scratch.nonzero {
			pairs := settlePair(atX*delta[w], &sums[w])
			perNode[w] += pairs
			ofX += pairs
		}
	}
	s.units.add(worker, x, int64(ofX))
}

// settlePair returns the units of δ_x δ_w s_w², given those of δ_x δ_w.
func settlePair(units float64, sum *float64) uint64 {
	walks := float64(units * *sum)
	pairs := roundUnits(float64(walks * *sum))
	*sum = math.Float64frombits(uint64(roundUnits(walks)))
	return uint64(pairs)
}

// takeSamePaths takes away what the pairs of the same u have added, path by path x–u–w.
func (s *fourSearch) takeSamePaths(ctx context.Context, progress *meter) error {
	all := span{0, rank(s.graph.walker.nodes)}
	return s.graph.walk(ctx, all, progress, func(_ context.Context, worker int, u rank, list []rank) error {
		d := s.graph.delta(u)
		before := len(below(list, u))
		toLater, fromBefore, paths := 0.0, 0.0, 0.0
		for i := len(list) - 1; i >= 0; i-- {
			atV := s.graph.delta(list[i])
			if i < before {
				s.units.add(worker, list[i], -toUnits(d*d*atV*toLater))
				paths += float64(atV * toLater)
			}
			toLater += atV
		}
		for i, v := range list {
			atV := s.graph.delta(v)
			s.units.add(worker, v, -toUnits(d*d*atV*fromBefore))
			if i < before {
				fromBefore += atV
			}
		}
		s.units.add(worker, u, -toUnits(2*d*d*paths))
		return nil
	})
}
