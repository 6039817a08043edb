package ops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// A propagation runs the hops of one tile after the other. Between hops it keeps D^(-1/2)x rather than x, so that a
// row of the next hop is a plain sum of its neighbours' rows, weighted where the graph is.
type propagation struct {
	walker   *walker
	degrees  []uint32
	sums     []float64 // strengths of nodes; nil of a graph without weights, where they are the degrees
	parts    []sourcePart
	op       Operator
	plan     PropagatePlan
	visit    func(Tile) error
	onStage  func(Stage)
	progress meter
	edges    int64
	workers  []rowScratch

	// read holds the rows of a stripe of the tile that a hop reads. What it writes goes to next, from which the hop after
	// it reads again as previous: another tile in memory, or scratch arrays, which are one where read holds whole tiles.
	read           []float32
	previous, next []float32
	// inputs has room for the source's columns of a tile [nodes×width], nil if each hop reads them again.
	inputs []float32
	// stripeSums are the sums of all rows over the stripes walked so far.
	stripeSums []float64
}

// propagate computes the columns from Operator.First on, as a plan says.
func propagate(
	ctx context.Context, w *walker, s *survey, src Source, op Operator, opt Options, plan PropagatePlan,
	visit func(Tile) error,
) (err error) {
	w.limit(plan.Workers)
	p := &propagation{
		walker: w, degrees: s.degrees, sums: s.strengths, edges: s.Edges(), parts: partsOf(src), op: op, plan: plan,
		visit: visit, onStage: opt.OnStage, workers: make([]rowScratch, plan.Workers),
	}
	p.progress = meter{progress: opt.Progress, stage: "propagate", total: s.Entries * int64(plan.Passes)}
	room := visitRows*plan.Width + kernel.GroupColumns
	for i := range p.workers {
		p.workers[i] = rowScratch{
			sums:   make([]float64, kernel.Stride(plan.Width)+1),
			values: make([]float32, room),
			input:  make([]float32, room),
			part:   make([]float32, room),
		}
	}
	free, err := p.allocate(opt.Scratch)
	defer func() {
		if freeErr := free(); freeErr != nil {
			err = errors.Join(err, freeErr)
		}
	}()
	if err != nil {
		return fmt.Errorf("propagate: %w", err)
	}
	columns := src.Width()
	for lo := op.First; lo < columns; lo += plan.Width {
		hi := min(columns, lo+plan.Width)
		if err := p.tile(ctx, lo, hi); err != nil {
			return err
		}
	}
	return nil
}

// allocate takes what the plan says, and returns what gives it back.
func (p *propagation) allocate(dir *scratch.Dir) (free func() error, err error) {
	var frees []func() error
	free = func() error {
		var errs []error
		for _, f := range frees {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	inMemory := func(rows int) ([]float32, error) {
		length := rows * kernel.Stride(p.plan.Width)
		m, err := offheap.New[float32](length)
		if err != nil {
			return nil, fmt.Errorf("%d×%d numbers: %w", rows, p.plan.Width, err)
		}
		frees = append(frees, m.Free)
		return m.Data, nil
	}
	frees = append(frees, p.walker.free)
	if p.plan.Held {
		if err := p.walker.keep(p.degrees); err != nil {
			return free, err
		}
	} else if err := p.walker.drop(); err != nil {
		return free, err
	}
	if p.read, err = inMemory(p.plan.StripeRows); err != nil {
		return free, err
	}
	if p.plan.Inputs {
		if p.inputs, err = inMemory(p.plan.Rows); err != nil {
			return free, err
		}
	}
	length := p.plan.Rows * kernel.Stride(p.plan.Width)
	if p.plan.Stripes > 1 {
		sums, err := scratch.New[float64](dir, "propagate-sums", length)
		if err != nil {
			return free, err
		}
		frees = append(frees, sums.Close)
		p.stripeSums = sums.Data
	}
	if p.op.Hops == 1 {
		return free, nil
	}
	if !p.plan.OnDisk {
		p.next, err = inMemory(p.plan.Rows)
		return free, err
	}
	rows, err := scratch.New[float32](dir, "propagate-next", length)
	if err != nil {
		return free, err
	}
	frees = append(frees, rows.Close)
	p.next, p.previous = rows.Data, rows.Data
	if p.plan.Stripes > 1 {
		previous, err := scratch.New[float32](dir, "propagate-previous", length)
		if err != nil {
			return free, err
		}
		frees = append(frees, previous.Close)
		p.previous = previous.Data
	}
	return free, nil
}

// A turn is a hop of a tile over one stripe of source rows.
type turn struct {
	hop, lo, hi int
	rows        kv.Range      // in memory
	from        kernel.Slab   // of them
	marks       []kernel.Mark // of them, in the columns after those of from; nil: from has all columns
	inputs      []float32     // of all rows; nil: they are read again
	begin, end  bool          // the first, the last stripe
	next        []float32     // nil at the last hop
}

func (t *turn) width() int { return t.hi - t.lo }

// tile runs all hops of the columns lo ≤ j < hi.
func (p *propagation) tile(ctx context.Context, lo, hi int) error {
	n, length := p.plan.Rows, p.plan.Rows*kernel.Stride(hi-lo)
	inputs := p.inputs
	if labels, ok := p.labelled(lo, hi); ok && labels.at <= lo {
		inputs = nil // of labels alone, which are in memory
	}
	for hop := 1; hop <= p.op.Hops; hop++ {
		start := time.Now()
		for first := 0; first < n; first += p.plan.StripeRows {
			end := min(n, first+p.plan.StripeRows)
			t := &turn{
				hop: hop, lo: lo, hi: hi, rows: kv.Range{First: kv.NodeID(first), End: kv.NodeID(end)}, inputs: inputs,
				begin: first == 0, end: end == n,
			}
			if hop < p.op.Hops {
				t.next = p.next[:length]
			}
			if err := p.load(ctx, t); err != nil {
				return err
			}
			if err := p.walk(ctx, t); err != nil {
				return err
			}
		}
		p.walker.finish(p.onStage, start, Stage{Name: "propagate", Hop: hop, Edges: p.edges, Columns: hi - lo})
		switch {
		case hop == p.op.Hops: // it wrote nothing
		case !p.plan.OnDisk:
			p.read, p.next = p.next, p.read
		default:
			p.previous, p.next = p.next, p.previous
		}
	}
	return nil
}

// scaleOf is the entry of D^(-1/2) of a node, zero for one without weight.
func (p *propagation) scaleOf(v kv.NodeID) float64 {
	if p.sums == nil {
		return p.scale(float64(p.degrees[v]))
	}
	return p.scale(p.sums[v])
}

// scale is the inverse root of a strength.
func (p *propagation) scale(strength float64) float64 {
	if p.op.SelfLoops {
		strength++
	}
	return kernel.Scale(strength)
}

// ending is the Ending for v's row.
func (p *propagation) ending(v kv.NodeID) kernel.Ending {
	scale := p.scaleOf(v)
	return kernel.Ending{Scale: scale, Next: scale * scale}
}
