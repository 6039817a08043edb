package ops

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
)

const (
	// MaxHops is the largest K of diagonals.
	MaxHops = 5

	// MaxSteps is the most elementary steps, such as looking at one neighbour, that ComputeDiagonals takes: some twenty
	// minutes of two cores.
	MaxSteps = 1e12
)

// Powers says of which powers of Ã ComputeDiagonals takes the diagonals.
type Powers struct {
	// Hops is K, 1 to MaxHops.
	Hops int

	// Have is diag(Ã^k) [n] of the first hops, k = 1, 2, …, by NodeID. They become part of the Diagonals, and are not
	// computed again.
	Have [][]float64

	// OnHop, if not nil, is told of every hop that was computed, in order. The values [n] are borrowed for the call, whose
	// error ends the work.
	OnHop func(k int, values []float64) error
}

func (p *Powers) validate(nodes int) error {
	if p.Hops < 1 || p.Hops > MaxHops {
		return fmt.Errorf("%w: got %d hops, want 1 to %d", ErrShape, p.Hops, MaxHops)
	}
	p.Have = p.Have[:min(p.Hops, len(p.Have))]
	for k, values := range p.Have {
		if len(values) != nodes {
			return fmt.Errorf("%w: got %d values of hop %d, want %d", ErrShape, len(values), k+1, nodes)
		}
	}
	return nil
}

// Diagonals holds diag(Ã^k), k = 1..K. If A is symmetric, this is the probability that a random walk is back at its
// start after k steps.
type Diagonals struct {
	hops   [][]float64               // hops[k-1]
	arrays []*scratch.Array[float64] // of those that were computed
}

// Hops is K.
func (d *Diagonals) Hops() int { return len(d.hops) }

// At returns diag(Ã^k) [n], by NodeID, for 1 ≤ k ≤ Hops. The caller must not change it, nor use it after Close.
func (d *Diagonals) At(k int) []float64 { return d.hops[k-1] }

// Close gives back the arrays in Options.Scratch.
func (d *Diagonals) Close() error {
	var err error
	for _, a := range d.arrays {
		err = joinErrors(err, a.Close())
	}
	return err
}

// ComputeDiagonals returns diag(Ã^k) for k = 1..K, exact up to rounding (well below 1e-9). With δ_u = 1/d_u,
// S_v = Σ_{u~v} δ_u and π the product of δ over the nodes of a cycle,
//
//	k = 1:  0
//	k = 2:  δ_v S_v
//	k = 3:  2 Σ π over the triangles of v
//
// Every triangle is found once, from its node of lowest or second lowest degree. So hubs cost little for k ≤ 3: a star
// of any size costs only the time to read it. For k = 4 and 5 every closed walk is followed. The steps are counted
// first, as by DiagonalSteps; above MaxSteps the error is a *PriceError.
//
// PlanDiagonals tells what memory holds. The results are in Options.Scratch, if it is set. If Options.MemoryBudget has
// room for all of the adjacency, 4 bytes an entry, the graph is read once for the degrees and once for all else. For
// triangles, half of the adjacency (each edge once) is else cut into parts that fit, and the graph is walked once for
// each part. From k = 4 on memory must hold all of the adjacency. If too little fits, the error is a *BudgetError. The
// values are the same bits at any budget and number of workers, with Scratch or without, and on any processor: each
// product is rounded before it is added, by a conversion: float64(x*y).
//
// To follow every closed walk takes Σ_u d_u² steps for k = 4, and for k = 5 the same number again and the entries
// around every path of two steps. In a directed or weighted graph it is done for k = 3 too, in as many steps as for k =
// 4. In a directed graph d_in·d_out replaces d².
//
// The caller closes the diagonals.
func ComputeDiagonals(ctx context.Context, g Graph, powers Powers, opt Options) (d *Diagonals, err error) {
	opt = opt.withDefaults()
	if err := powers.validate(g.NumNodes()); err != nil {
		return nil, err
	}
	hops := powers.Hops
	d = &Diagonals{hops: slices.Clone(powers.Have)}
	if d.Hops() == hops {
		return d, nil
	}
	w, s, err := newSurvey(ctx, g, opt)
	if err != nil {
		return nil, err
	}
	progress := &meter{progress: opt.Progress, stage: "diagonal"}
	ways, err := newClosedWalks(w, s, powers, progress, opt)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = joinErrors(err, joinErrors(ways.close(), w.free())); err != nil {
			err = joinErrors(err, d.Close())
			d = nil
		}
	}()
	if hops >= 3 {
		start := time.Now()
		steps, err := ways.count(ctx)
		if err != nil {
			return d, err
		}
		w.finish(opt.OnStage, start, Stage{Name: "price", Edges: s.Edges()})
		if err := CheckSteps(hops, steps); err != nil {
			return d, err
		}
	}
	progress.total = int64(ways.passes()) * s.Entries
	for k := d.Hops() + 1; k <= hops; k++ {
		start := time.Now()
		out, err := scratch.New[float64](opt.Scratch, fmt.Sprintf("diagonal-%d", k), w.nodes)
		if err != nil {
			return d, err
		}
		d.hops, d.arrays = append(d.hops, out.Data), append(d.arrays, out)
		if k > 1 { // no walk of one step is closed
			if err := ways.hop(ctx, k, out.Data); err != nil {
				return d, err
			}
			w.finish(opt.OnStage, start, Stage{Name: "diagonal", Hop: k, Edges: s.Edges()})
		}
		if powers.OnHop == nil {
			continue
		}
		if err := powers.OnHop(k, out.Data); err != nil {
			return d, err
		}
	}
	return d, nil
}

// DiagonalSteps walks a graph to count the steps that ComputeDiagonals takes for K = hops. For fewer than three hops it
// takes none.
func DiagonalSteps(ctx context.Context, g Graph, hops int, opt Options) (float64, error) {
	powers := Powers{Hops: hops}
	if err := powers.validate(0); err != nil || hops < 3 {
		return 0, err
	}
	w, s, err := newSurvey(ctx, g, opt.withDefaults())
	if err != nil {
		return 0, err
	}
	var ways closedWalks = &walkJob{walker: w, survey: s, hops: hops}
	if !s.Weighted {
		ways = newClosedForms(w, s, powers)
	}
	steps, err := ways.count(ctx)
	return steps, joinErrors(err, joinErrors(ways.close(), w.free()))
}

// CheckSteps returns the *PriceError of ComputeDiagonals if so many steps are more than MaxSteps.
func CheckSteps(hops int, steps float64) error {
	if steps > MaxSteps {
		return &PriceError{Hops: hops, Price: steps}
	}
	return nil
}

// closedWalks computes the diagonals of a graph, in one of two ways.
type closedWalks interface {
	// count counts the steps, before any hop is computed.
	count(ctx context.Context) (steps float64, err error)
	// passes is how often the graph is walked once the steps are counted.
	passes() int
	// hop makes diag(Ã^k) [n] of zeros, k ≥ 2 ascending.
	hop(ctx context.Context, k int, out []float64) error
	close() error
}

// newClosedWalks divides the budget. If there is room, the next walk keeps the lists.
func newClosedWalks(w *walker, s *survey, powers Powers, progress *meter, opt Options) (closedWalks, error) {
	hops := powers.Hops
	if s.Weighted {
		workers, capacity, err := s.divideForWalks(hops, opt)
		if err != nil {
			return nil, err
		}
		w.limit(workers)
		return &walkJob{
			walker: w, survey: s, hops: hops, have: len(powers.Have), capacity: capacity, progress: progress,
		}, nil
	}
	workers, keep, capacity, err := s.divideForTriangles(hops, opt)
	if err != nil {
		return nil, err
	}
	w.limit(workers)
	f := newClosedForms(w, s, powers)
	f.capacity, f.dir, f.progress = capacity, opt.Scratch, progress
	if f.longer != nil {
		f.longer.progress = progress
	}
	if !keep {
		return f, w.drop()
	}
	if err := w.keep(s.degrees); err != nil {
		return nil, fmt.Errorf("diagonal: %w", err)
	}
	return f, nil
}
