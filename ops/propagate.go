package ops

import (
	"context"
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
)

const (
	// maxTileWidth is two cache lines of float32, which a processor fetches together. Measured on 2^19 nodes, a
	// column of 32 costs three quarters of a column of 20; more only take memory.
	maxTileWidth = 32

	// visitRows is the most rows handed to a visitor at once, and read of the source at once.
	visitRows = 512
)

// An Operator says which propagation is meant.
type Operator struct {
	// Hops is K ≥ 1.
	Hops int

	// Diagonals, of at least Hops hops, are cleared from the powers: S_k X = Ã^k X − diag(Ã^k)∘X. Nil leaves
	// them in: S_k X = Ã^k X.
	Diagonals *Diagonals

	// SelfLoops propagates by (D+I)^(-1/2) (A+I) (D+I)^(-1/2), the usual smoothing of features, in which an
	// isolated node keeps its own row. Diagonals must be nil.
	SelfLoops bool

	// Wanted, where it is not nil, says which columns of the last hop matter: row v then holds the columns
	// Wanted[i][v], each Wanted[i] a vector [n] where kv.NoClass names none, and NaN elsewhere. The last hop costs
	// one number an edge and vector in place of a row. The hops before it are whole.
	Wanted [][]kv.Class
}

// A Tile is rows × columns of S_k X as handed to a visitor.
type Tile struct {
	Hop    int // k, 1..K
	Lo, Hi int // columns Lo ≤ j < Hi
	Rows   kv.Range
	Values []float32 // row-major [(Rows.End-Rows.First)×(Hi-Lo)], borrowed for the call
}

// Propagate streams S_k X for k = 1..K, where X [n×c] is src: column tile by column tile, within a tile hop by hop,
// within a hop in ranges of rows. visit is called exactly once for every hop, tile and range of rows; concurrently
// for disjoint ranges of the same hop and tile, never across hops or tiles. The row of an isolated node is zero.
//
// It holds two tiles of w columns, 8·n·w bytes, beside the degrees, 4·n, and the workers' buffers. w follows from
// Options.MemoryBudget; where not even one column fits, the error is a *BudgetError. The values are the same bits at
// any budget and number of workers: every row sum runs in ascending neighbour order in float64, and is rounded to
// float32 once a hop.
//
// An error of visit, src or g stops everything and is returned, and so is ctx.Err(). A panic of visit is raised again
// by Propagate.
func Propagate(ctx context.Context, g Graph, src Source, op Operator, opt Options, visit func(Tile) error) error {
	n, c := g.NumNodes(), src.Width()
	if err := op.validate(n); err != nil {
		return err
	}
	if n == 0 || c <= 0 {
		return ctx.Err()
	}
	opt = opt.withDefaults()
	walker, err := newWalker(g, opt.Workers)
	if err != nil {
		return err
	}
	survey, err := walker.survey(ctx, opt)
	if err != nil {
		return err
	}
	workers, width, err := tileShape(c, op.Hops, &survey.Sizes, opt)
	if err != nil {
		return err
	}
	walker.limit(workers)
	p := &propagation{
		walker: walker, degrees: survey.degrees, source: src, op: op, visit: visit, onStage: opt.OnStage,
		edges:   survey.entries / 2,
		scratch: make([]rowScratch, workers),
	}
	tiles := (c + width - 1) / width
	p.progress = meter{progress: opt.Progress, stage: "propagate", total: survey.entries * int64(op.Hops) * int64(tiles)}
	return p.run(ctx, c, width)
}

func (op Operator) validate(n int) error {
	if op.Hops < 1 {
		return fmt.Errorf("%w: got %d hops, want at least 1", ErrShape, op.Hops)
	}
	for _, columns := range op.Wanted {
		if len(columns) != n {
			return fmt.Errorf("%w: got wanted columns of %d nodes, want %d", ErrShape, len(columns), n)
		}
	}
	if op.Diagonals == nil {
		return nil
	}
	if op.SelfLoops {
		return fmt.Errorf("%w: got diagonals to clear together with self loops, want one of the two", ErrShape)
	}
	if op.Diagonals.Hops() < op.Hops {
		return fmt.Errorf("%w: got diagonals of %d hops, want %d", ErrShape, op.Diagonals.Hops(), op.Hops)
	}
	if have := len(op.Diagonals.At(1)); have != n {
		return fmt.Errorf("%w: got diagonals of %d nodes, want %d", ErrShape, have, n)
	}
	return nil
}

// tileShape divides the budget between workers and columns, such that most of both are at work.
func tileShape(columns, hops int, s *Sizes, opt Options) (workers, width int, err error) {
	for some := opt.Workers; some > 0; some-- {
		for w := min(columns, maxTileWidth); w > 0; w-- {
			if w < columns && w > 8 && w%8 != 0 {
				continue // the kernel works on eight columns at a time
			}
			if s.propagateBytes(hops, some, w) <= opt.MemoryBudget {
				if some*w > workers*width {
					workers, width = some, w
				}
				break
			}
		}
	}
	if workers > 0 {
		return workers, width, nil
	}
	return 0, 0, &BudgetError{Job: "propagate", Budget: opt.MemoryBudget, Least: s.LeastForPropagate(hops)}
}

// LeastForPropagate is the least MemoryBudget with which Propagate works, at any number of columns.
func (s *Sizes) LeastForPropagate(hops int) int64 { return s.propagateBytes(hops, 1, 1) }

// propagateBytes is what tiles of a width take.
func (s *Sizes) propagateBytes(hops, workers, width int) int64 {
	n, w := int64(s.nodes), int64(stride(width))
	tiles := int64(min(hops, 2)) // the last hop is only visited
	scratch := s.bufferBytes() + 8*visitRows*int64(width) + 8*w
	return 4*n + int64(workers)*scratch + tiles*4*n*w
}
