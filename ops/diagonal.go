package ops

import (
	"context"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// MaxHops is the largest K of exact diagonals.
const MaxHops = 5

// Diagonals holds diag(Ã^k), k = 1..K. Where A is symmetric it is the probability that a random walk is back where it
// began after k steps.
type Diagonals struct {
	hops   [][]float64               // hops[k-1]
	errors [][]float64               // likewise, nil where exact; shorter where all that follow are
	arrays []*scratch.Array[float64] // what holds them
}

// DiagonalsOf are Diagonals that were computed before, with the standard errors that were: values[k-1] is diag(Ã^k) [n],
// errors[k-1] its standard errors or nil. All are the caller's, who may give them back once the diagonals are not used
// any more.
func DiagonalsOf(values, errors [][]float64) *Diagonals {
	return &Diagonals{hops: values, errors: errors}
}

// Hops is K.
func (d *Diagonals) Hops() int { return len(d.hops) }

// At returns diag(Ã^k) [n], by NodeID, for 1 ≤ k ≤ Hops. The caller must not change it, nor use it after Close.
func (d *Diagonals) At(k int) []float64 { return d.hops[k-1] }

// StandardError returns the standard errors of At(k) [n], which is as much the caller's; nil where all of it is exact.
// SampleDiagonals makes some, and zero for the nodes that it does exactly.
func (d *Diagonals) StandardError(k int) []float64 {
	if k > len(d.errors) {
		return nil
	}
	return d.errors[k-1]
}

// Close gives back what Options.Scratch holds.
func (d *Diagonals) Close() error {
	var err error
	for _, a := range d.arrays {
		err = joined(err, a.Close())
	}
	return err
}

// ComputeDiagonals returns diag(Ã^k) for k = 1..hops ≤ MaxHops, exact but for rounding (well below 1e-9). With
// δ_u = 1/d_u, S_v = Σ_{u~v} δ_u and π the product of δ over the nodes of a cycle,
//
//	k = 1:  0
//	k = 2:  δ_v S_v
//	k = 3:  2 Σ π over the triangles of v
//	k = 4:  δ_v [Σ_{u~v} δ_u² (S_u − δ_v) + δ_v S_v²] + 2 Σ π over the 4-cycles of v
//	k = 5:  the walks around triangles at and beside v + 2 Σ π over the 5-cycles of v
//
// Every cycle is found once, a triangle from its node of lowest degree, others from that of highest, so that hubs cost
// little: a star of any size costs what it takes to read it. The work is counted before it is begun; more than
// Options.MaxPrice is refused with a *PriceError. Measured on graphs with a heavy tail, a core takes 400 to 600 million
// steps a second for k = 3 at 2^14 to 2^20 nodes, 330 to 440 million for k = 5 at 2^12 to 2^16, and for k = 4 the less
// the larger the graph: from 580 million at 2^14 nodes down to 230 million at 2^20.
//
// In memory are 12 bytes a node for k = 3, for 4 another 4, the results, which Options.Scratch takes, and what
// Options.MemoryBudget leaves of the adjacency. Triangles read the graph once for every part of half the adjacency that
// fits, and hold a table of some m/2 bytes besides. 4-cycles read it three times for every stripe of nodes of at most
// 2^26 entries, 256 MiB, and at most 2^23 nodes, 8 bytes and 20 a worker. 5-cycles need all of it, 4 bytes an entry,
// and some 70 bytes a worker and node. What does not fit at all is a *BudgetError. The values are the same bits at any
// budget and number of workers, with Scratch or without, and on any processor: products are rounded by
// themselves, written float64(x*y) where one that can fuse them with a sum would not.
//
// Where the graph is directed or weighted these forms do not hold, and every closed walk is followed: Σ_u d_u² steps for
// k = 3, that again for k = 4, and for k = 5 the entries around every path of two steps as well; in a directed graph
// d_in d_out is in place of d². In memory are 20 bytes a node, 32 if directed; from k = 3 on 8 more, 8 more a worker, and
// some of the adjacency; from k = 4 on all of it, 4 bytes an entry or, weighted, 8, in both directions, and 12 to 24
// bytes a node and worker.
//
// The caller closes the diagonals.
func ComputeDiagonals(ctx context.Context, g Graph, hops int, opt Options) (d *Diagonals, err error) {
	opt = opt.withDefaults()
	if hops < 1 || hops > MaxHops {
		return nil, fmt.Errorf("%w: got %d hops, want 1 to %d", ErrShape, hops, MaxHops)
	}
	opt.Have = opt.Have[:min(hops, len(opt.Have))]
	for k, values := range opt.Have {
		if len(values) != g.NumNodes() {
			return nil, fmt.Errorf("%w: got %d values of hop %d, want %d", ErrShape, len(values), k+1, g.NumNodes())
		}
	}
	if len(opt.Have) == hops {
		return DiagonalsOf(opt.Have, nil), nil
	}
	w, s, err := surveyed(ctx, g, opt)
	if err != nil {
		return nil, err
	}
	if !w.isSimple() {
		return walkDiagonals(ctx, w, s, hops, opt)
	}
	job, err := newDiagonalJob(w, s, hops, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = joined(err, job.close(err != nil)) }()
	if hops >= 3 {
		start := time.Now()
		price, err := job.price(ctx)
		if err != nil {
			return nil, err
		}
		w.finish(opt.OnStage, start, kv.Stage{Name: "price", Edges: s.edges()})
		if steps := price.stepsAfter(job.have()); steps > opt.MaxPrice {
			return nil, &PriceError{Hops: hops, Price: steps, Limit: opt.MaxPrice}
		}
	}
	job.progress = meter{progress: opt.Progress, stage: "diagonal", total: job.entriesWalked()}
	for k := job.have() + 1; k <= hops; k++ {
		start := time.Now()
		if err := job.hop(ctx, k); err != nil {
			return nil, err
		}
		if k > 1 {
			w.finish(opt.OnStage, start, kv.Stage{Name: "diagonal", Hop: k, Edges: s.edges()})
		}
		if err := opt.hasDiagonal(k, job.results[k].Data); err != nil {
			return nil, err
		}
	}
	return job.diagonals(), nil
}

// hasDiagonal tells OnDiagonal.
func (o *Options) hasDiagonal(k int, values []float64) error {
	if o.OnDiagonal == nil {
		return nil
	}
	return o.OnDiagonal(k, values)
}

// diagonals are the results.
func (job *diagonalJob) diagonals() *Diagonals {
	d := &Diagonals{}
	for _, a := range job.results[1:] {
		d.hops = append(d.hops, a.Data)
		d.arrays = append(d.arrays, a)
	}
	return d
}

// A diagonalJob computes one diagonal after the other.
type diagonalJob struct {
	graph    *rankedGraph
	hops     int
	capacity int64                     // bytes of adjacency that triangles may hold
	dir      *scratch.Dir              // of results
	before   *scratch.Array[uint32]    // by rank: neighbours of lesser rank, counted with the price
	results  []*scratch.Array[float64] // [k] by NodeID
	progress meter
}

func newDiagonalJob(w *walker, s *survey, hops int, opt Options) (*diagonalJob, error) {
	workers, capacity, err := divideBudget(hops, &s.Sizes, opt)
	if err != nil {
		return nil, err
	}
	w.limit(workers)
	job := &diagonalJob{
		graph: newRankedGraph(w, s), hops: hops, capacity: capacity, dir: opt.Scratch,
		results: make([]*scratch.Array[float64], 1),
	}
	for _, values := range opt.Have {
		job.results = append(job.results, &scratch.Array[float64]{Data: values})
	}
	return job, nil
}

// have is the number of hops whose diagonals are known.
func (job *diagonalJob) have() int { return len(job.results) - 1 }

// lacks tells whether diag(Ã^k) is still to be computed.
func (job *diagonalJob) lacks(k int) bool { return job.have() < k && k <= job.hops }

// close gives back what was for the work, and the results as well where it has failed.
func (job *diagonalJob) close(failed bool) error {
	err := job.before.Close()
	if failed {
		for _, a := range job.results {
			err = joined(err, a.Close())
		}
	}
	return err
}

// hop keeps diag(Ã^k); the hops must be asked for in order from 1.
func (job *diagonalJob) hop(ctx context.Context, k int) error {
	switch k {
	case 1:
		_, err := job.newResult(1)
		return err
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

func (job *diagonalJob) newResult(k int) ([]float64, error) {
	out, err := scratch.New[float64](job.dir, fmt.Sprintf("diagonal-%d", k), job.graph.walker.nodes)
	if err != nil {
		return nil, err
	}
	job.results = append(job.results, out)
	return out.Data, nil
}

// keep makes diag(Ã^k) of its values by rank.
func (job *diagonalJob) keep(k int, value func(v rank) float64) error {
	out, err := job.newResult(k)
	if err != nil {
		return err
	}
	for v := range out {
		out[v] = value(job.graph.rank(kv.NodeID(v)))
	}
	return nil
}

// keepSums makes diag(Ã^k) of value(v, δ_v, Σ_{u~v} term(v, u, δ_v)), summed in ascending NodeID.
func (job *diagonalJob) keepSums(
	ctx context.Context, k int, term func(v, u kv.NodeID, atV float64) float64,
	value func(v kv.NodeID, atV, sum float64) float64,
) error {
	out, err := job.newResult(k)
	if err != nil {
		return err
	}
	return job.graph.walker.walk(ctx, func(ctx context.Context, _ int, adj *kv.Adjacency) error {
		for v := adj.First; v < adj.End; v++ {
			if v%256 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			list := adj.Of(v)
			atV, sum := inverse(uint32(len(list))), 0.0
			for _, u := range list {
				sum += float64(term(v, u, atV))
			}
			out[v] = value(v, atV, sum)
		}
		job.progress.add(len(adj.Neighbors))
		return nil
	})
}

// returns2 is δ_v S_v.
func (job *diagonalJob) returns2(ctx context.Context) error {
	degrees := job.graph.survey.degrees
	return job.keepSums(ctx, 2,
		func(_, u kv.NodeID, _ float64) float64 { return inverse(degrees[u]) },
		func(_ kv.NodeID, atV, sum float64) float64 { return atV * sum })
}

// entriesWalked is the total of the progress, as if every walk were of the whole graph.
func (job *diagonalJob) entriesWalked() int64 { return int64(job.walks()) * job.graph.survey.entries }

// walks is how often the graph is walked once its price is known.
func (job *diagonalJob) walks() (walks int) {
	if job.lacks(2) {
		walks++
	}
	if job.lacks(3) {
		walks += 1 + len(job.spans())
	}
	if job.lacks(4) {
		walks += len(job.graph.stripes()) + 2
	}
	if job.lacks(5) {
		walks += 2
	}
	return walks
}
