package ops

import (
	"context"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// MaxHops is the largest K of diagonals.
const MaxHops = 5

// Diagonals holds diag(Ã^k), k = 1..K. If A is symmetric, this is the probability that a random walk is back at its start
// after k steps.
type Diagonals struct {
	hops   [][]float64               // hops[k-1]
	arrays []*scratch.Array[float64] // what holds them
}

// Hops is K.
func (d *Diagonals) Hops() int { return len(d.hops) }

// At returns diag(Ã^k) [n], by NodeID, for 1 ≤ k ≤ Hops. The caller must not change it, nor use it after Close.
func (d *Diagonals) At(k int) []float64 { return d.hops[k-1] }

// Close gives back what Options.Scratch holds.
func (d *Diagonals) Close() error {
	var err error
	for _, a := range d.arrays {
		err = joinErrors(err, a.Close())
	}
	return err
}

// ComputeDiagonals returns diag(Ã^k) for k = 1..hops ≤ MaxHops, exact but for rounding (well below 1e-9). With
// δ_u = 1/d_u, S_v = Σ_{u~v} δ_u and π the product of δ over the nodes of a cycle,
//
//	k = 1:  0
//	k = 2:  δ_v S_v
//	k = 3:  2 Σ π over the triangles of v
//
// Every triangle is found once, from its node of lowest or second lowest degree. So hubs cost little for k ≤ 3: a star of
// any size costs only the time to read it. For k = 4 and 5 every closed walk is followed. The steps are counted first;
// above Options.MaxPrice the error is a *PriceError.
//
// Memory holds 12 bytes a node for k = 3. The results are in Options.Scratch, if it is set. The rest of
// Options.MemoryBudget holds adjacency. Where it has room for 4 bytes an entry more, the graph is read once for the degrees
// and once for all else. For triangles, half of the adjacency (each edge once) is cut into parts that fit, and the graph is
// walked once for each part; a table takes some m/2 bytes more. From k = 4 on memory holds all of the adjacency, 4 bytes an
// entry, 28 bytes a node, and 12 for each node and worker. If too little fits, the error is a *BudgetError. The values are
// the same bits at any budget and number of workers, with Scratch or without, and on any processor: each product is
// rounded before it is added, by a conversion: float64(x*y).
//
// To follow every closed walk takes Σ_u d_u² steps for k = 4, and for k = 5 the same number again and the entries around
// every path of two steps. In a directed or weighted graph it is done for k = 3 too, in as many steps as for k = 4. In a
// directed graph d_in·d_out replaces d². Memory then holds 20 bytes a node, 32 if directed. From k = 3 on it holds 8 more,
// 8 more for each worker, and some of the adjacency. From k = 4 on it holds all of the adjacency, 4 bytes an entry or 8 if
// weighted, in both directions, and 12 to 24 bytes for each node and worker.
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
		return &Diagonals{hops: opt.Have}, nil
	}
	w, s, err := newSurvey(ctx, g, opt)
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
	defer func() { err = joinErrors(err, job.close(err != nil)) }()
	if job.kept {
		if err := w.keep(s.degrees); err != nil {
			return nil, fmt.Errorf("diagonal: %w", err)
		}
	} else if err := w.drop(); err != nil {
		return nil, err
	}
	if hops >= 3 {
		start := time.Now()
		price, err := job.price(ctx)
		if err != nil {
			return nil, err
		}
		w.finish(opt.OnStage, start, Stage{Name: "price", Edges: s.edges()})
		if steps := price.stepsAfter(job.have()); steps > opt.MaxPrice {
			return nil, &PriceError{Hops: hops, Price: steps, Limit: opt.MaxPrice}
		}
	}
	job.progress = &meter{progress: opt.Progress, stage: "diagonal", total: job.walkedEntries()}
	for k := job.have() + 1; k <= hops; k++ {
		start := time.Now()
		if err := job.hop(ctx, k); err != nil {
			return nil, err
		}
		if k > 1 {
			w.finish(opt.OnStage, start, Stage{Name: "diagonal", Hop: k, Edges: s.edges()})
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
	kept     bool                      // the decoded adjacency
	capacity int64                     // bytes of adjacency that triangles may hold
	dir      *scratch.Dir              // of results
	before   *scratch.Array[uint32]    // by rank: neighbours of lesser rank, counted with the price
	results  []*scratch.Array[float64] // [k] by NodeID
	meetings *walkJob                  // for k ≥ 4; nil until the price is counted
	progress *meter
}

func newDiagonalJob(w *walker, s *survey, hops int, opt Options) (*diagonalJob, error) {
	workers, keep, capacity, err := divideBudget(hops, &s.Sizes, opt)
	if err != nil {
		return nil, err
	}
	w.limit(workers)
	job := &diagonalJob{
		graph: newRankedGraph(w, s), hops: hops, kept: keep, capacity: capacity, dir: opt.Scratch,
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
	err := joinErrors(job.before.Close(), job.graph.walker.free())
	if failed {
		for _, a := range job.results {
			err = joinErrors(err, a.Close())
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
	default:
		return job.meet(ctx, k)
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

// keepRows makes diag(Ã^k) of value(v, the neighbours of v).
func (job *diagonalJob) keepRows(
	ctx context.Context, k int, value func(v kv.NodeID, list []kv.NodeID) float64,
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
			out[v] = value(v, adj.Of(v))
		}
		job.progress.add(len(adj.Neighbors))
		return nil
	})
}

// returns2 is δ_v S_v.
func (job *diagonalJob) returns2(ctx context.Context) error {
	degrees := job.graph.survey.degrees
	return job.keepRows(ctx, 2, func(_ kv.NodeID, list []kv.NodeID) float64 {
		sum := 0.0
		for _, u := range list {
			sum += inverse(degrees[u])
		}
		return inverse(uint32(len(list))) * sum
	})
}

// walkedEntries is the total of the progress, as if every walk were of the whole graph.
func (job *diagonalJob) walkedEntries() int64 { return int64(job.walks()) * job.graph.survey.entries }

// walks is how often the graph is walked once its price is known.
func (job *diagonalJob) walks() (walks int) {
	if job.lacks(2) {
		walks++
	}
	if job.lacks(3) {
		walks += 1 + len(job.spans())
	}
	return walks + max(0, job.hops-max(3, job.have()))
}

// newMeetings makes the job of k ≥ 4, without what it needs for more than the price.
func (job *diagonalJob) newMeetings() *walkJob {
	s := *job.graph.survey
	s.strengths = &strengths{columnDegrees: s.degrees}
	return &walkJob{walker: job.graph.walker, survey: &s, hops: job.hops}
}

// meet makes diag(Ã^k), k ≥ 4.
func (job *diagonalJob) meet(ctx context.Context, k int) error {
	out, err := job.newResult(k)
	if err != nil {
		return err
	}
	m := job.meetings
	if m.scale == nil {
		m.scale, m.progress = make([]float64, len(out)), job.progress
		for v, degree := range m.survey.degrees {
			m.scale[v] = inverse(degree)
		}
		m.limit(len(job.graph.lists))
	}
	return m.hop(ctx, k, out)
}
