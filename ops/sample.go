package ops

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// MaxSampledHops is the largest K of SampleDiagonals.
const MaxSampledHops = 4

const defaultSamples = 64

// SampleOptions tunes SampleDiagonals. The zero value is ready to use.
type SampleOptions struct {
	// Samples is the number of draws for every node and hop. Standard errors fall with its square root. Zero means 64.
	Samples int

	// Seed of the draws. The same seed gives the same bits.
	Seed uint64
}

// SampleDiagonals estimates diag(Ã^k), k = 1..hops ≤ MaxSampledHops, for graphs whose exact diagonals are out of reach.
// Walks that go back and forth (for k = 2, all walks) are exact. Cycles are sampled at every node v, from pairs of
// neighbours u, u'. These are drawn independently with chances q_u/Q and q_u'/Q, Q the sum of q over the neighbours of v:
//
//	k = 3:  δ_v Q² E[√(δ_u δ_u') (u ~ u')], q = √δ
//	k = 4:  δ_v Q² E[d_u δ_w (w ~ u', w ≠ v, u ≠ u')], q = δ, where w is drawn from the neighbours of u, d_u ≤ d_u'
//
// Both estimates are unbiased. For k = 3, q is optimal if the chance of an edge is proportional to the product of the
// degrees. A node with at most Samples pairs (for k = 4: pairs with w) is computed exactly. The standard errors count one
// more sample, of mean weight, that closes a cycle. So they are not zero if no sample closes a cycle.
//
// The work is one walk of the graph, and some n·Samples draws for each hop and each part of the adjacency that fits
// Options.MemoryBudget. k = 4 keeps 4·n·Samples bytes in Options.Scratch. Memory also holds the arrays of the triangle
// count, except for its sums. The values are the same bits at any budget and number of workers. The caller closes the
// diagonals.
func SampleDiagonals(
	ctx context.Context, g Graph, hops int, samples SampleOptions, opt Options,
) (d *Diagonals, err error) {
	opt = opt.withDefaults()
	if hops < 1 || hops > MaxSampledHops {
		return nil, fmt.Errorf("%w: got %d hops, want 1 to %d", ErrShape, hops, MaxSampledHops)
	}
	if samples.Samples < 0 || samples.Samples > math.MaxInt32 {
		return nil, fmt.Errorf("%w: got %d samples, want 0 to %d", ErrShape, samples.Samples, math.MaxInt32)
	}
	if samples.Samples == 0 {
		samples.Samples = defaultSamples
	}
	w, survey, err := newSurvey(ctx, g, opt)
	if err != nil {
		return nil, err
	}
	if !w.isSimple() {
		return nil, fmt.Errorf("%w: got a graph that is directed or weighted, whose diagonals are not sampled", ErrShape)
	}
	if err := w.drop(); err != nil { // the budget of samples has no room for kept lists
		return nil, err
	}
	workers, capacity, err := divideSampleBudget(hops, samples.Samples, &survey.Sizes, opt)
	if err != nil {
		return nil, err
	}
	w.limit(workers)
	job := &sampleJob{
		diagonalJob: diagonalJob{
			graph: newRankedGraph(w, survey), hops: hops, capacity: capacity, dir: opt.Scratch,
			results: make([]*scratch.Array[float64], 1),
		},
		SampleOptions: samples, draws: make([]draws, workers),
	}
	defer func() { err = joinErrors(err, job.close(err != nil)) }()
	if hops >= 3 {
		if err := job.prepare(ctx); err != nil {
			return nil, err
		}
	}
	job.progress = meter{progress: opt.Progress, stage: "sample", total: job.walkedEntries()}
	for k := 1; k <= hops; k++ {
		start := time.Now()
		if err := job.hop(ctx, k); err != nil {
			return nil, err
		}
		if k > 1 {
			w.finish(opt.OnStage, start, Stage{Name: "sample", Hop: k, Edges: survey.edges()})
		}
	}
	d = job.diagonals()
	d.errors = make([][]float64, 2)
	for _, a := range job.errors {
		d.errors = append(d.errors, a.Data)
		d.arrays = append(d.arrays, a)
	}
	return d, nil
}

// A sampleJob samples one diagonal after the other.
type sampleJob struct {
	diagonalJob
	SampleOptions
	errors []*scratch.Array[float64] // of k = 3 and 4, by NodeID
	maps   *hubMaps
	draws  []draws // a worker each
}

func (job *sampleJob) close(failed bool) (err error) {
	err = job.diagonalJob.close(failed)
	if failed {
		for _, a := range job.errors {
			err = joinErrors(err, a.Close())
		}
	}
	if job.maps != nil {
		err = joinErrors(err, job.maps.free())
	}
	return err
}

func (job *sampleJob) hop(ctx context.Context, k int) (err error) {
	if k < 3 {
		return job.diagonalJob.hop(ctx, k)
	}
	a, err := scratch.New[float64](job.dir, fmt.Sprintf("diagonal-error-%d", k), job.graph.walker.nodes)
	if err != nil {
		return err
	}
	job.errors = append(job.errors, a)
	if k == 3 {
		return job.sample3(ctx)
	}
	return job.sample4(ctx)
}

// prepare counts the neighbours before every rank, and maps those of the hubs.
func (job *sampleJob) prepare(ctx context.Context) (err error) {
	n := job.graph.walker.nodes
	if job.before, err = scratch.New[uint32](job.dir, "diagonal-before", n); err != nil {
		return err
	}
	all := span{0, rank(n)}
	err = job.graph.walk(ctx, all, nil, func(_ context.Context, _ int, u rank, list []rank) error {
		job.before.Data[u] = uint32(len(below(list, u)))
		return nil
	})
	if err != nil {
		return err
	}
	job.maps, err = job.graph.mapHubs(ctx, job.graph.survey.hubs())
	return err
}

// walkedEntries is the total of the progress.
func (job *sampleJob) walkedEntries() int64 {
	walks := 0
	if job.hops >= 2 {
		walks++
	}
	if job.hops >= 3 {
		closures := max(1, len(job.spans()))
		walks += closures + 1
		if job.hops >= 4 {
			walks += closures + len(job.parts()) + 3
		}
	}
	return int64(walks) * job.graph.survey.entries
}

// parts cuts the ranks so that their lists fit into the capacity.
func (job *sampleJob) parts() []span { return heldSpans(job.graph.degrees, 0, job.capacity) }

// draws are the draws at one node, the same whenever they are made again.
type draws struct {
	rng    rand.PCG
	list   []rank
	prefix []float64 // Σ q over the list up to and with each
}

// begin readies the draws of hop k at the node v.
func (d *draws) begin(g *rankedGraph, seed uint64, k int, v rank, list []rank) {
	d.rng.Seed(seed, uint64(v)<<8|uint64(k))
	d.list, d.prefix = list, d.prefix[:0]
	sum := 0.0
	for _, u := range list {
		q := g.delta(u)
		if k == 3 {
			q = math.Sqrt(q)
		}
		sum += q
		d.prefix = append(d.prefix, sum)
	}
}

// total is Q.
func (d *draws) total() float64 { return d.prefix[len(d.prefix)-1] }

// neighbor draws the place of u in the list with the chance q_u/Q.
func (d *draws) neighbor() int {
	x := float64(d.rng.Uint64()>>11) / (1 << 53) * d.total()
	return min(sort.Search(len(d.prefix), func(i int) bool { return d.prefix[i] > x }), len(d.prefix)-1)
}

// A closure answers whether two nodes are neighbours, if the node of the greater rank is in a span or is a hub.
type closure struct {
	maps  *hubMaps // nil if hubs are not asked for
	lists *heldLists
	part  span
}

// knows says whether the answer is known for a greater rank y.
func (c *closure) knows(y rank) bool {
	return y >= c.part.lo && y < c.part.hi || c.maps != nil && int(y) < c.maps.hubs
}

// closes says whether x < y are neighbours.
func (c *closure) closes(x, y rank) bool {
	if c.maps != nil && int(y) < c.maps.hubs {
		return c.maps.of(y).has(x)
	}
	_, found := slices.BinarySearch(c.lists.of(y), x)
	return found
}

// closures calls visit with one closure after the other, which together know every rank.
func (job *sampleJob) closures(ctx context.Context, visit func(c *closure) error) error {
	parts := job.spans()
	if len(parts) == 0 {
		return visit(&closure{maps: job.maps})
	}
	for i, part := range parts {
		lists, err := job.graph.holdBefore(ctx, part, job.before.Data)
		if err != nil {
			return err
		}
		c := &closure{lists: lists, part: part}
		if i == 0 {
			c.maps = job.maps
		}
		if err := joinErrors(visit(c), lists.free()); err != nil {
			return err
		}
	}
	return nil
}

// walkNodes visits every node with at least two neighbours.
func (job *sampleJob) walkNodes(
	ctx context.Context, k int, visit func(ctx context.Context, v rank, d *draws) error,
) error {
	all := span{0, rank(job.graph.walker.nodes)}
	return job.graph.walk(ctx, all, &job.progress, func(ctx context.Context, worker int, v rank, list []rank) error {
		if len(list) < 2 {
			return nil
		}
		d := &job.draws[worker]
		d.begin(job.graph, job.Seed, k, v, list)
		return visit(ctx, v, d)
	})
}

// pairs is the number of pairs of a list.
func pairs(list []rank) int { return len(list) * (len(list) - 1) / 2 }

// A tally of one node is what its closed samples add up to, in fixed point, as they are found in any order.
type tally struct {
	units   uint64  // in 1 of tallies.sums and squares
	perUnit float64 // 1/units
}

// newTally has room for so many samples of at most 1 each.
func newTally(samples int) tally {
	shift := 62 - bits.Len(uint(samples))
	return tally{1 << shift, 1 / float64(uint64(1)<<shift)}
}

// sample3 adds up for every node the samples that close, or all pairs where they are not more than samples.
func (job *sampleJob) sample3(ctx context.Context) (err error) {
	n := job.graph.walker.nodes
	tallies, err := scratch.New[uint64](job.dir, "sample-tallies", 2*n)
	if err != nil {
		return err
	}
	defer func() { err = joinErrors(err, tallies.Close()) }()
	sums, squares := tallies.Data[:n], tallies.Data[n:] // by rank
	t := newTally(job.Samples)
	err = job.closures(ctx, func(c *closure) error {
		return job.walkNodes(ctx, 3, func(ctx context.Context, v rank, d *draws) error {
			if pairs(d.list) <= job.Samples {
				sums[v] += job.allTriangles(c, v, d)
			} else {
				sum, square := job.closed3(c, d, t)
				sums[v] += sum
				squares[v] += square
			}
			return ctx.Err()
		})
	})
	if err != nil {
		return err
	}
	estimates, err := scratch.New[float64](job.dir, "sample-estimates", 2*n)
	if err != nil {
		return err
	}
	defer func() { err = joinErrors(err, estimates.Close()) }()
	values, deviations := estimates.Data[:n], estimates.Data[n:] // by rank
	err = job.walkNodes(ctx, 3, func(ctx context.Context, v rank, d *draws) error {
		if pairs(d.list) <= job.Samples {
			values[v] = 2 * float64(sums[v]) / fixedUnit
			return nil
		}
		middling := 0.0 // the mean of √δ
		for _, u := range d.list {
			at := job.graph.delta(u)
			middling += float64(at * math.Sqrt(at))
		}
		middling /= d.total()
		scale := job.graph.delta(v) * d.total() * d.total()
		sum, square := float64(sums[v])*t.perUnit, float64(squares[v])*t.perUnit
		mean, deviation := estimate(sum, square, middling*middling, job.Samples)
		values[v], deviations[v] = scale*mean, scale*deviation
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	job.keepErrors(3, deviations)
	return job.keep(3, func(v rank) float64 { return values[v] })
}

// estimate is the mean of samples and its standard error, given their sum and that of their squares. The square of one
// more sample, of a middling closed one, is counted with them.
func estimate(sum, squares, middling float64, samples int) (mean, deviation float64) {
	count := float64(samples)
	mean = sum / count
	second := (float64(squares) + float64(middling)) / (count + 1)
	return mean, math.Sqrt(max(0, second-float64(mean*mean)) / count)
}

// keepErrors makes the standard errors of hop k of deviations by rank.
func (job *sampleJob) keepErrors(k int, deviations []float64) {
	out := job.errors[k-3].Data
	for v := range out {
		out[v] = deviations[job.graph.rank(kv.NodeID(v))]
	}
}

// closed3 is the sums of √(δ_u δ_u') and of its square over the samples that close.
func (job *sampleJob) closed3(c *closure, d *draws, t tally) (sum, square uint64) {
	for range job.Samples {
		i, j := d.neighbor(), d.neighbor()
		if i > j {
			i, j = j, i
		}
		x, y := d.list[i], d.list[j]
		if i != j && c.knows(y) && c.closes(x, y) {
			both := job.graph.delta(x) * job.graph.delta(y)
			sum += uint64(roundUnits(float64(math.Sqrt(both) * float64(t.units))))
			square += uint64(roundUnits(float64(both * float64(t.units))))
		}
	}
	return sum, square
}

// allTriangles is the units of Σ π over the triangles of v.
func (job *sampleJob) allTriangles(c *closure, v rank, d *draws) (units uint64) {
	atV := job.graph.delta(v) * fixedUnit
	for j, y := range d.list {
		if !c.knows(y) {
			continue
		}
		yv := atV * job.graph.delta(y)
		for _, x := range d.list[:j] {
			if c.closes(x, y) {
				units += uint64(roundUnits(float64(yv * job.graph.delta(x))))
			}
		}
	}
	return units
}

// noSample is in place of a w that closes no cycle.
const noSample = ^rank(0)

// sample4 first looks up the w of all samples, then which of them close, and keeps those.
func (job *sampleJob) sample4(ctx context.Context) (err error) {
	g := job.graph
	n := g.walker.nodes
	starts, err := scratch.New[uint64](job.dir, "sample-starts", n+1) // by rank
	if err != nil {
		return err
	}
	defer func() { err = joinErrors(err, starts.Close()) }()
	err = job.walkNodes(ctx, 4, func(_ context.Context, v rank, d *draws) error {
		starts.Data[v+1] = uint64(min(job.Samples, job.paths(d.list)))
		return nil
	})
	if err != nil {
		return err
	}
	for v := range n {
		starts.Data[v+1] += starts.Data[v]
	}
	places, err := scratch.New[rank](job.dir, "sample-places", int(starts.Data[n]))
	if err != nil {
		return err
	}
	defer func() { err = joinErrors(err, places.Close()) }()
	of := func(v rank) []rank { return places.Data[starts.Data[v]:starts.Data[v+1]] }
	if err := job.lookUp(ctx, of); err != nil {
		return err
	}
	err = job.closures(ctx, func(c *closure) error {
		return job.walkNodes(ctx, 4, func(ctx context.Context, v rank, d *draws) error {
			places := of(v)
			job.each4(d, len(places), func(i int, _, other rank, _ int) {
				w := places[i]
				if w == noSample {
					return
				}
				if w == v || w == other || c.knows(max(w, other)) && !c.closes(min(w, other), max(w, other)) {
					places[i] = noSample
				}
			})
			return ctx.Err()
		})
	})
	if err != nil {
		return err
	}
	return job.settle4(ctx, of)
}

// paths is the number of all u, u' and w at a node, u the later of the two in list.
func (job *sampleJob) paths(list []rank) int {
	count := 0
	for j, u := range list {
		count += j * int(job.graph.degrees[u])
	}
	return count
}

// each4 calls visit with the number of every sample of a node, u, u' and the place of w in the list of u. Where u = u'
// there is no cycle. Samples are all there are where they are fewer than Samples.
func (job *sampleJob) each4(d *draws, samples int, visit func(i int, u, other rank, place int)) {
	degrees := job.graph.degrees
	if job.paths(d.list) <= job.Samples {
		i := 0
		for j, u := range d.list {
			for _, other := range d.list[:j] {
				for place := range int(degrees[u]) {
					visit(i, u, other, place)
					i++
				}
			}
		}
		return
	}
	for i := range samples {
		u, other := d.list[d.neighbor()], d.list[d.neighbor()]
		if u < other {
			u, other = other, u // the later has no more neighbours
		}
		place := int(d.rng.Uint64() >> 32 * uint64(degrees[u]) >> 32)
		visit(i, u, other, place)
	}
}

// lookUp holds one part of the lists after the other and notes the w of the samples.
func (job *sampleJob) lookUp(ctx context.Context, of func(v rank) []rank) error {
	for _, part := range job.parts() {
		lists, err := newHeldLists(part, func(u rank) uint32 { return job.graph.degrees[u] })
		if err != nil {
			return err
		}
		err = lists.fill(ctx, job.graph, part, 0, func(_ rank, list []rank) []rank { return list })
		if err == nil {
			err = job.walkNodes(ctx, 4, func(ctx context.Context, v rank, d *draws) error {
				places := of(v)
				job.each4(d, len(places), func(i int, u, other rank, place int) {
					if u == other {
						places[i] = noSample
					} else if u >= part.lo && u < part.hi {
						places[i] = lists.of(u)[place]
					}
				})
				return ctx.Err()
			})
		}
		if err = joinErrors(err, lists.free()); err != nil {
			return err
		}
	}
	return nil
}

// settle4 adds up the samples that are left.
func (job *sampleJob) settle4(ctx context.Context, of func(v rank) []rank) (err error) {
	g := job.graph
	n := g.walker.nodes
	estimates, err := scratch.New[float64](job.dir, "sample-estimates", 2*n)
	if err != nil {
		return err
	}
	defer func() { err = joinErrors(err, estimates.Close()) }()
	cycles, deviations := estimates.Data[:n], estimates.Data[n:] // by rank
	spread := g.byRank(job.results[2].Data)                      // δ S
	err = job.walkNodes(ctx, 4, func(ctx context.Context, v rank, d *draws) error {
		places := of(v)
		exact := job.paths(d.list) <= job.Samples
		var sum, squares, middling float64
		job.each4(d, len(places), func(i int, u, other rank, _ int) {
			degree := float64(g.degrees[u])
			if !exact {
				x := spread[u] * degree // the mean of d_u δ_w
				middling += float64(x * x)
			}
			w := places[i]
			if w == noSample {
				return
			}
			x := g.delta(w)
			if exact {
				x *= g.delta(u) * g.delta(other)
			} else {
				x *= degree
			}
			sum += x
			squares += float64(x * x)
		})
		if exact {
			cycles[v] = 2 * g.delta(v) * sum
			return nil
		}
		scale := g.delta(v) * d.total() * d.total()
		mean, deviation := estimate(sum, squares, middling/float64(job.Samples), job.Samples)
		cycles[v], deviations[v] = scale*mean, scale*deviation
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	job.keepErrors(4, deviations)
	return job.keepWalks4(ctx, func(v rank) float64 { return cycles[v] })
}

// divideSampleBudget returns how many workers may run and how many bytes of adjacency may be held.
func divideSampleBudget(hops, samples int, s *Sizes, opt Options) (workers int, capacity int64, err error) {
	bytes := func(workers int) int64 { return s.sampleBytes(hops, samples, workers, opt.Scratch != nil) }
	least := int64(0)
	if hops >= 3 {
		least = heldBytes(int64(s.maxDegree)) + heldBytes(0)
	}
	for workers = opt.Workers; workers > 0; workers-- {
		if rest := opt.MemoryBudget - bytes(workers); hops < 3 || rest >= least {
			return workers, min(rest, 4*maxHeldEntries), nil
		}
	}
	return 0, 0, &BudgetError{Job: "sampled diagonal", Budget: opt.MemoryBudget, Least: bytes(1) + least}
}

// sampleBytes is all that SampleDiagonals holds but lists.
func (s *Sizes) sampleBytes(hops, samples, workers int, onDisk bool) int64 {
	n, hubs := int64(s.nodes), s.hubs()
	bytes := s.diagonalArrays(hops, workers, onDisk) + int64(workers)*2*8*int64(s.maxDegree)
	if hops >= 3 {
		bytes += 8 * int64(hubMapWords(hubs))
	}
	node := int64(0)
	if !onDisk {
		node = 8 * 5 // standard errors of k = 3, and four arrays of work for it
		if hops >= 4 {
			node += 8 + 4*int64(samples)
		}
	}
	if hops >= 4 && !s.ranked {
		node += 8 // δ S by rank
	}
	return bytes + node*n
}
