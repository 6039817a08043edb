package ops

import (
	"context"

	"github.com/graphcleaner/graphcleaner/kv"
)

// walkBytes is what a worker holds a node to find 5-cycles: sums, and a place in a list.
const walkBytes = 8*6 + 4

// A closed walk of five steps goes around a triangle with a step to some neighbour and back on the way, or around a
// 5-cycle. With t = δ_x δ_y δ_z of a triangle, T_v = Σ t over the triangles of v:
//
//	v twice on the way, or v the neighbour stepped to    4 δ_v S_v T_v + 2 δ_v Σ_{a~v} δ_a T_a
//	another corner of v's triangle twice on the way      2 Σ t (δ_y S_y + δ_z S_z)
//	counted twice: the step is along the triangle        −Σ t (4 δ_v (δ_y + δ_z) + 2 δ_y δ_z)
//
// returns5 adds to these 2 Σ π over the 5-cycles of v.
func (job *diagonalJob) returns5(ctx context.Context) (err error) {
	g := job.graph
	n := g.walker.nodes
	s := &fiveSearch{
		delta: make([]float64, n), returns: g.byRank(job.results[2].Data), workers: make([]fiveScratch, len(g.lists)),
	}
	for x := range s.delta {
		s.delta[x] = g.delta(rank(x))
	}
	for i := range s.workers {
		s.workers[i] = newFiveScratch(n)
	}
	if s.units, err = newFixedSums(n, g.survey.hubs(), len(g.lists)); err != nil {
		return err
	}
	defer func() { err = joinErrors(err, s.units.free()) }()
	all := span{0, rank(n)}
	if s.lists, err = g.holdStripe(ctx, all); err != nil {
		return err
	}
	defer func() { err = joinErrors(err, s.lists.free()) }()
	err = g.walk(ctx, all, &job.progress, func(ctx context.Context, worker int, x rank, list []rank) error {
		later := above(list, x)
		if err := s.triangleWalks(ctx, worker, x, later); err != nil {
			return err
		}
		return s.fiveCycles(ctx, worker, x, later)
	})
	if err != nil {
		return err
	}
	s.units.settle()
	// Half the diagonal of k = 3 is Σ t.
	return job.keepSums(ctx, 5, func(_, u kv.NodeID, _ float64) float64 {
		return inverse(g.survey.degrees[u]) * job.results[3].Data[u]
	}, func(v kv.NodeID, atV, sum float64) float64 {
		return float64(2*job.results[2].Data[v]*job.results[3].Data[v]) + float64(atV*sum) + s.units.at(g.rank(v))
	})
}

// A fiveSearch holds the whole adjacency. Its arrays are by rank.
type fiveSearch struct {
	lists   *heldLists
	delta   []float64 // δ
	returns []float64 // δ S
	units   *fixedSums
	workers []fiveScratch
}

// fiveScratch is zero between nodes.
type fiveScratch struct {
	marks   rankSet
	closers []rank
	corners []rank
	corner  []float64 // triangleWalks: Σ t of the triangles from x at a corner
	before  []float64 // triangleWalks: Σ δ over the neighbours of a corner before x
	two     []float64 // fiveCycles: walks x–u–w, Σ δ_u
	twoBy   []float64 // fiveCycles: δ_w Σ δ_u
	three   []float64 // fiveCycles: walks x–u–w'–w
	back    []float64 // fiveCycles: what is found at w
}

func newFiveScratch(n int) fiveScratch {
	return fiveScratch{
		marks:  newRankSet(n),
		corner: make([]float64, n), before: make([]float64, n),
		two: make([]float64, n), twoBy: make([]float64, n), three: make([]float64, n), back: make([]float64, n),
	}
}

// closing appends to dst the nodes w > y, descending, that close a triangle with y and the node whose later neighbours
// are in marks.
func closing(dst []rank, lists *heldLists, y rank, marks rankSet) []rank {
	list := lists.of(y)
	for i := len(list) - 1; i >= 0 && list[i] > y; i-- {
		if marks.has(list[i]) {
			dst = append(dst, list[i])
		}
	}
	return dst
}

// triangleWalks adds, for every triangle x < y < z from x, the second and third line above. It also takes away the
// walks that fiveCycles counts among the 5-cycles although they are a triangle with a tail u–v, where u is a corner
// and v < x: of weight t δ_u δ_v, counted once for v, twice for u and once for the other corners.
func (f *fiveSearch) triangleWalks(ctx context.Context, worker int, x rank, later []rank) error {
	if len(later) < 2 {
		return nil
	}
	delta, s := f.delta, &f.workers[worker]
	s.marks.addAll(later)
	defer func() {
		s.marks.removeAll(later)
		for _, u := range later {
			s.corner[u], s.before[u] = 0, 0
		}
		s.corner[x], s.before[x] = 0, 0
	}()
	s.before[x] = f.sumBefore(x, x)
	for _, u := range later {
		s.before[u] = f.sumBefore(u, x)
	}
	steps := pace(0)
	for _, y := range later {
		s.closers = closing(s.closers[:0], f.lists, y, s.marks)
		for _, z := range s.closers {
			nodes := [3]rank{x, y, z}
			t := float64(delta[x] * delta[y] * delta[z]) // rounded before it is added
			var spread, tails float64
			for _, u := range nodes {
				spread += f.returns[u]
				tails += float64(delta[u] * s.before[u])
			}
			for i, u := range nodes {
				d, a, b := delta[u], delta[nodes[(i+1)%3]], delta[nodes[(i+2)%3]]
				walks := 2*(spread-f.returns[u]) - (float64(4*d*(a+b)) + float64(2*a*b)) -
					2*(tails+float64(d*s.before[u]))
				f.units.add(worker, u, toUnits(t*walks))
				s.corner[u] += t
			}
		}
		if err := steps.walk(ctx, len(f.lists.of(y))); err != nil {
			return err
		}
	}
	f.addTails(worker, x, x)
	for _, u := range later {
		f.addTails(worker, u, x)
	}
	return nil
}

// sumBefore is Σ δ over the neighbours of u before x.
func (f *fiveSearch) sumBefore(u, x rank) float64 {
	sum := 0.0
	for _, v := range f.lists.of(u) {
		if v >= x {
			break
		}
		sum += f.delta[v]
	}
	return sum
}

// addTails takes from the neighbours v < x of the corner u the tails that end in them.
func (f *fiveSearch) addTails(worker int, u, x rank) {
	corner := f.workers[worker].corner[u]
	if corner == 0 {
		return
	}
	for _, v := range f.lists.of(u) {
		if v >= x {
			break
		}
		f.units.add(worker, v, -toUnits(2*f.delta[v]*f.delta[u]*corner))
	}
}

// fiveCycles adds 2π to the nodes of every 5-cycle x–u'–w'–w–u of which x is the least rank. It takes all walks
// x–u'–w'–w that u leads back to x, less those with u' = w and those with w' = u; those with u' = u, a triangle with a
// tail, are left to triangleWalks. A cycle is walked both ways round, so that each of its nodes is u, or w, once.
func (f *fiveSearch) fiveCycles(ctx context.Context, worker int, x rank, later []rank) error {
	if len(later) == 0 { // with one there is no cycle, but there are the walks that triangleWalks takes away
		return nil
	}
	delta, s := f.delta, &f.workers[worker]
	s.marks.addAll(later)
	defer func() {
		s.marks.removeAll(later)
		for _, w := range s.corners {
			s.two[w], s.twoBy[w], s.three[w], s.back[w] = 0, 0, 0, 0
		}
		s.corners = s.corners[:0]
	}()
	steps := pace(0)
	for _, u := range later {
		paths := f.lists.of(u)
		for i := len(paths) - 1; i >= 0 && paths[i] > x; i-- {
			w := paths[i]
			if s.two[w] == 0 {
				s.corners = append(s.corners, w)
			}
			s.two[w] += delta[u]
		}
		if err := steps.walk(ctx, len(paths)); err != nil {
			return err
		}
	}
	for _, w := range s.corners {
		s.twoBy[w] = delta[w] * s.two[w]
	}
	for _, w := range s.corners {
		paths := f.lists.of(w)
		walks, returning := 0.0, 0.0
		for i := len(paths) - 1; i >= 0 && paths[i] > x; i-- {
			walks += s.twoBy[paths[i]]
		}
		if s.marks.has(w) { // u' = w
			for i := len(paths) - 1; i >= 0 && paths[i] > x; i-- {
				returning += delta[paths[i]]
			}
		}
		s.three[w] = walks - float64(delta[w]*returning)
		if err := steps.walk(ctx, len(paths)); err != nil {
			return err
		}
	}
	ofX := 0.0
	for _, u := range later {
		paths := f.lists.of(u)
		ofU := 0.0
		for i := len(paths) - 1; i >= 0 && paths[i] > x; i-- {
			w := paths[i]
			walks := s.three[w] - s.twoBy[u] // w' = u
			if s.marks.has(w) {
				walks += float64(delta[w] * delta[u]) // both were taken away
			}
			ofU += float64(delta[w] * walks)
			s.back[w] += float64(delta[u] * walks)
		}
		f.units.add(worker, u, toUnits(2*delta[x]*delta[u]*ofU))
		ofX += float64(delta[u] * ofU)
		if err := steps.walk(ctx, len(paths)); err != nil {
			return err
		}
	}
	for _, w := range s.corners {
		f.units.add(worker, w, toUnits(2*delta[x]*delta[w]*s.back[w]))
	}
	f.units.add(worker, x, toUnits(delta[x]*ofX))
	return nil
}
