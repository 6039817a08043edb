package ops

import (
	"context"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
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

	// Want, if not nil, appends the columns that matter in the last hop of node v to columns, ascending and each once.
	// It is called concurrently. The other values of the last hop are NaN, and may be zero if the node has no
	// neighbours. A tile is then left out for the nodes that want none of its columns. The hops before it are whole.
	Want func(v kv.NodeID, columns []int) []int

	// First is the first column to compute.
	First int
}

// A Tile is rows × columns of S_k X as handed to a visitor.
type Tile struct {
	Hop    int // k, 1..K
	Lo, Hi int // columns Lo ≤ j < Hi
	Rows   kv.Range
	Values []float32 // row-major [(Rows.End-Rows.First)×(Hi-Lo)], borrowed for the call
}

// Propagate streams S_k X for k = 1..K, with X [n×c] = src. The order is: tiles of columns; in each tile, hops; in each
// hop, ranges of rows. visit is called exactly once for every hop, tile and range of rows; concurrently for disjoint
// ranges of the same hop and tile, never across hops or tiles. The row of an isolated node is zero.
//
// Plan tells how Options.MemoryBudget is divided. Memory holds degrees (4·n bytes), buffers of the workers, tiles or
// stripes of tiles, and the adjacency if it fits. If diagonals are cleared, it also holds the columns of src in a tile,
// if they fit. If too little fits, the error is a *BudgetError. The values are the same bits under any plan: every row
// sum runs in ascending neighbour order in float64, and is rounded to float32 once a hop.
//
// Columns of labels, as from OneHot and also beside other columns (see SideBySide), need no dense rows at hop 1.
//
// An error of visit, src or g stops everything and is returned, and so is ctx.Err(). A panic of visit is raised again
// by Propagate.
func Propagate(ctx context.Context, g Graph, src Source, op Operator, opt Options, visit func(Tile) error) error {
	n, c := g.NumNodes(), src.Width()
	if err := op.validate(n); err != nil {
		return err
	}
	if n == 0 || op.First >= c {
		return ctx.Err()
	}
	opt = opt.withDefaults()
	walker, survey, err := newSurvey(ctx, g, opt)
	if err != nil {
		return err
	}
	sizes := &survey.Sizes
	if op.SelfLoops {
		sizes = sizes.WithSelfLoops()
	}
	plan, err := Plan(sizes, c-op.First, op.Hops, opt)
	if err != nil {
		return err
	}
	if op.readsAgain(src) {
		plan.KeepInputs(opt)
	}
	return propagate(ctx, walker, survey, src, op, opt, plan, visit)
}

// readsAgain reports whether hops after the first read a source again that is not in memory.
func (op Operator) readsAgain(src Source) bool {
	return op.Diagonals != nil && op.Hops > 1 && slices.ContainsFunc(partsOf(src), func(part sourcePart) bool {
		switch part.Source.(type) {
		case oneHot, dense:
			return false
		}
		return true
	})
}

func (op Operator) validate(n int) error {
	if op.Hops < 1 {
		return fmt.Errorf("%w: got %d hops, want at least 1", ErrShape, op.Hops)
	}
	if op.First < 0 {
		return fmt.Errorf("%w: got a first column of %d, want at least 0", ErrShape, op.First)
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
