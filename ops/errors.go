package ops

import (
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

var (
	// ErrGraph marks adjacency that breaks the contract of Graph, such as a neighbour that is not a node.
	ErrGraph = kernel.ErrGraph

	// ErrShape marks arguments that do not fit each other, the graph, or the operator.
	ErrShape = kernel.ErrShape

	// ErrReach is returned if the neighbourhood of a node has more nodes than the limit.
	ErrReach = errors.New("ops: neighbourhood is too large")

	// ErrBudget marks a *BudgetError: errors.Is(err, ErrBudget) is true.
	ErrBudget = errors.New("ops: memory budget too small")

	// ErrPrice marks a *PriceError: errors.Is(err, ErrPrice) is true.
	ErrPrice = errors.New("ops: price out of reach")
)

// A BudgetError says that a job cannot be done within Options.MemoryBudget.
type BudgetError struct {
	Job    string // "propagate", "diagonal"
	Budget int64  // bytes given
	Least  int64  // bytes that would do, with one worker
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("%s: got a memory budget of %d bytes, want at least %d", e.Job, e.Budget, e.Least)
}

// Is makes a BudgetError an ErrBudget.
func (e *BudgetError) Is(target error) bool { return target == ErrBudget }

// A PriceError says that diagonals would take more than MaxSteps elementary steps.
type PriceError struct {
	Hops  int
	Price float64 // elementary steps
}

func (e *PriceError) Error() string {
	return fmt.Sprintf("diagonals of %d hops take %.3g steps, want at most %.3g", e.Hops, e.Price, float64(MaxSteps))
}

// Is makes a PriceError an ErrPrice.
func (e *PriceError) Is(target error) bool { return target == ErrPrice }
