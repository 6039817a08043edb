package ops

import (
	"context"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
)

// MaxHops is the largest K of exact diagonals.
const MaxHops = 5

// Diagonals holds diag(Ã^k), k = 1..K: the probability that a random walk is back where it began after k steps.
type Diagonals struct{ hops [][]float64 }

// Hops is K.
func (d *Diagonals) Hops() int { return len(d.hops) }

// At returns diag(Ã^k) [n], by NodeID, for 1 ≤ k ≤ Hops. The caller must not change it.
func (d *Diagonals) At(k int) []float64 { return d.hops[k-1] }

// ComputeDiagonals returns diag(Ã^k) for k = 1..hops ≤ MaxHops, exact but for rounding (well below 1e-9). With
// δ_u = 1/d_u, S_v = Σ_{u~v} δ_u and π the product of δ over the nodes of a cycle,
//
//	k = 1:  0
//	k = 2:  δ_v S_v
//	k = 3:  2 Σ π over the triangles of v
//	k = 4:  δ_v [Σ_{u~v} δ_u² (S_u − δ_v) + δ_v S_v²] + 2 Σ π over the 4-cycles of v
//	k = 5:  the walks around triangles at and beside v + 2 Σ π over the 5-cycles of v
//
// Every cycle is found once, from its node of highest degree, so that hubs cost little: a star of any size costs
// what it takes to read it. The work is counted before it is begun; more than Options.MaxPrice is refused with a
// *PriceError.
//
// It holds arrays over the nodes, some 80 to 100 bytes a node and, from k = 4 on, 20 to 70 more for every worker; and
// the adjacency, 4 bytes an edge for triangles and 8 for longer cycles. Where the adjacency does not fit
// Options.MemoryBudget, triangles and 4-cycles take several passes over the graph; 5-cycles need all of it. What does
// not fit at all is a *BudgetError. The values are the same bits at any budget and number of workers, and on any
// processor: products are rounded by themselves, written float64(x*y) where one that can fuse them with a sum would
// not.
func ComputeDiagonals(ctx context.Context, g Graph, hops int, opt Options) (*Diagonals, error) {
	opt = opt.withDefaults()
	job, err := newDiagonalJob(ctx, g, hops, opt)
	if err != nil {
		return nil, err
	}
	if hops >= 3 {
		start := time.Now()
		price, err := job.price(ctx)
		if err != nil {
			return nil, err
		}
		job.finish("price", 0, start, opt)
		if steps := price.steps(); steps > opt.MaxPrice {
			return nil, &PriceError{Hops: hops, Price: steps, Limit: opt.MaxPrice}
		}
	}
	job.progress = meter{progress: opt.Progress, stage: "diagonal", total: job.entriesWalked()}
	d := &Diagonals{hops: [][]float64{make([]float64, g.NumNodes())}}
	for k := 2; k <= hops; k++ {
		start := time.Now()
		byRank, err := job.hop(ctx, k)
		if err != nil {
			return nil, err
		}
		d.hops = append(d.hops, job.graph.byNode(byRank))
		job.finish("diagonal", k, start, opt)
	}
	return d, nil
}

func (job *diagonalJob) finish(stage string, hop int, start time.Time, opt Options) {
	bytes := job.graph.walker.bytes.Swap(0)
	if opt.OnStage != nil {
		opt.OnStage(kv.Stage{
			Name: stage, Hop: hop, Seconds: time.Since(start).Seconds(), Edges: job.graph.survey.entries / 2, BytesRead: bytes,
		})
	}
}

// A diagonalJob computes one diagonal after the other. Arrays over the nodes are by rank.
type diagonalJob struct {
	graph    *rankedGraph
	hops     int
	capacity int64     // adjacency entries that may be held
	delta    []float64 // δ
	spread   []float64 // S
	before   []uint32  // neighbours of lesser rank, counted with the price
	around   []float64 // Σ π over the triangles of a node, from k = 3 on
	progress meter
}

func newDiagonalJob(ctx context.Context, g Graph, hops int, opt Options) (*diagonalJob, error) {
	if hops < 1 || hops > MaxHops {
		return nil, fmt.Errorf("%w: got %d hops, want 1 to %d", ErrShape, hops, MaxHops)
	}
	w, err := newWalker(g, opt.Workers)
	if err != nil {
		return nil, err
	}
	s, err := w.survey(ctx, opt)
	if err != nil {
		return nil, err
	}
	workers, capacity, err := divideBudget(hops, &s.Sizes, opt)
	if err != nil {
		return nil, err
	}
	w.limit(workers)
	job := &diagonalJob{graph: newRankedGraph(w, s), hops: hops, capacity: capacity, delta: make([]float64, w.nodes)}
	for x, degree := range job.graph.degrees {
		if degree > 0 {
			job.delta[x] = 1 / float64(degree)
		}
	}
	return job, nil
}

// hop returns diag(Ã^k) [n] by rank; the hops must be asked for in order from 2.
func (job *diagonalJob) hop(ctx context.Context, k int) ([]float64, error) {
	switch k {
	case 2:
		return job.returns2(ctx)
	case 3:
		return job.returns3(ctx)
	case 4:
		return job.returns4(ctx)
	default:
		return job.returns5(ctx)
	}
}

func (job *diagonalJob) returns2(ctx context.Context) (out []float64, err error) {
	job.spread, err = job.neighborSums(ctx, func(_, u rank) float64 { return job.delta[u] })
	if err != nil {
		return nil, err
	}
	out = make([]float64, len(job.delta))
	for v, s := range job.spread {
		out[v] = job.delta[v] * s
	}
	return out, nil
}

// neighborSums returns Σ_{u~v} term(v, u) for every v [n], by rank, summed in ascending rank.
func (job *diagonalJob) neighborSums(ctx context.Context, term func(v, u rank) float64) ([]float64, error) {
	sums := make([]float64, len(job.delta))
	err := job.graph.walker.walk(ctx, func(ctx context.Context, worker int, adj *kv.Adjacency) error {
		for i := range int(adj.End - adj.First) {
			if i%256 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			v, list := job.graph.row(worker, adj, i)
			sum := 0.0
			for _, u := range list {
				sum += float64(term(v, u))
			}
			sums[v] = sum
		}
		job.progress.add(len(adj.Neighbors))
		return nil
	})
	return sums, err
}

// A searcher looks for cycles whose node of least rank is x, with x's neighbours in list, ascending.
type searcher func(ctx context.Context, held *heldLists, worker int, x rank, list []rank) error

// searchSpans holds the adjacency, or one span of it after the other where it does not fit, and searches from every
// node in each.
func (job *diagonalJob) searchSpans(ctx context.Context, later bool, search searcher) error {
	for _, s := range job.spans(later) {
		if err := job.searchSpan(ctx, s, later, search); err != nil {
			return err
		}
	}
	return nil
}

// spans cuts the ranks so that what is held of each fits.
func (job *diagonalJob) spans(later bool) []span {
	if later {
		return spans(job.before, job.capacity)
	}
	return spans(job.graph.degrees, job.capacity)
}

func (job *diagonalJob) searchSpan(ctx context.Context, s span, later bool, search searcher) (err error) {
	held, err := job.graph.hold(ctx, s, later)
	if err != nil {
		return err
	}
	defer func() {
		if freeErr := held.ranks.free(); err == nil {
			err = freeErr
		}
	}()
	return job.graph.walker.walk(ctx, func(ctx context.Context, worker int, adj *kv.Adjacency) error {
		for i := range int(adj.End - adj.First) {
			if i%256 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			x, list := job.graph.row(worker, adj, i)
			if err := search(ctx, held, worker, x, list); err != nil {
				return err
			}
		}
		job.progress.add(len(adj.Neighbors))
		return nil
	})
}

// entriesWalked is the total of the progress: a walk for k = 2, one a span for triangles and 4-cycles, one for
// 5-cycles, and one each for what k = 4 and 5 add to the cycles.
func (job *diagonalJob) entriesWalked() int64 {
	walks := 0
	if job.hops >= 2 {
		walks++
	}
	if job.hops >= 3 {
		walks += len(job.spans(true))
	}
	if job.hops >= 4 {
		walks += len(job.spans(false)) + 1
	}
	if job.hops >= 5 {
		walks += 2
	}
	return int64(walks) * job.graph.survey.entries
}

// divideBudget returns how many workers may run and how many adjacency entries may be held.
func divideBudget(hops int, s *Sizes, opt Options) (workers int, capacity int64, err error) {
	if hops < 3 {
		return opt.Workers, 0, nil
	}
	for workers = opt.Workers; workers > 0; workers-- {
		if left := opt.MemoryBudget - s.diagonalArrays(hops, workers); left >= s.leastHeld(hops) {
			return workers, left / 4, nil
		}
	}
	return 0, 0, &BudgetError{Job: "diagonal", Budget: opt.MemoryBudget, Least: s.LeastForDiagonals(hops)}
}

// LeastForDiagonals is the least MemoryBudget with which ComputeDiagonals works.
func (s *Sizes) LeastForDiagonals(hops int) int64 {
	return s.diagonalArrays(hops, 1) + s.leastHeld(hops)
}

// leastHeld is the bytes of the least adjacency that is held at a time.
func (s *Sizes) leastHeld(hops int) int64 {
	switch {
	case hops < 3:
		return 0
	case hops < 5:
		return 4 * int64(s.maxDegree) // a span is never less than the lists' entries for one node
	default:
		return 4 * s.entries
	}
}

// diagonalArrays is the bytes of everything but the adjacency held.
func (s *Sizes) diagonalArrays(hops, workers int) int64 {
	n := s.nodes
	node := int64(4*4 + 8*3 + 8 + 8 + 8*hops) // degrees, ranks, before; δ, S, triangles; units; offsets; results
	worker := s.bufferBytes() + 4*int64(s.maxDegree) + int64(n)/8
	if hops >= 4 {
		node += 8
		worker += pairBytes * int64(n)
	}
	if hops >= 5 {
		worker += walkBytes * int64(n)
	}
	return node*int64(n) + int64(workers)*worker
}
