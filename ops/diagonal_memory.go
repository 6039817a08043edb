package ops

import (
	"math"
	"unsafe"

	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// A DiagonalPlan bounds the memory of ComputeDiagonals.
type DiagonalPlan struct {
	// MemoryBytes counts towards Options.MemoryBudget, ScratchBytes is the size of the results and scratch arrays.
	MemoryBytes, ScratchBytes int64
}

// PlanDiagonals divides the memory budget as ComputeDiagonals does. If too little fits, the error is a *BudgetError.
//
// For k = 3 memory holds 12 bytes a node, and a table of some m/2 bytes; the rest of the budget holds adjacency. From k
// = 4 on it holds all of the adjacency, 28 bytes a node, and 12 for each node and worker. For a weighted graph it holds
// 20 bytes a node. From k = 3 on it holds 8 more, 8 more for each worker, and some of the adjacency; from k = 4 on all
// of it, 8 bytes an entry, and 12 for each node and worker.
func PlanDiagonals(s *Sizes, hops int, opt Options) (plan DiagonalPlan, err error) {
	opt = opt.withDefaults()
	onDisk := opt.Scratch != nil
	if onDisk {
		plan.ScratchBytes = (8*int64(hops) + 4) * int64(s.Nodes)
	}
	if s.Weighted {
		workers, capacity, err := s.divideForWalks(hops, opt)
		arrays, least := s.walkBytes(hops, workers, onDisk)
		plan.MemoryBytes = arrays + max(least, min(capacity, s.Entries)*s.entryBytes())
		return plan, err
	}
	workers, keep, capacity, err := s.divideForTriangles(hops, opt)
	plan.MemoryBytes = s.diagonalBytes(hops, workers, onDisk)
	if hops >= 3 {
		plan.MemoryBytes = max(plan.MemoryBytes, s.triangleBytes(hops, workers, onDisk)+min(capacity, s.halfBytes()))
	}
	if keep {
		plan.MemoryBytes += s.keptBytes()
	}
	return plan, err
}

// divideForTriangles returns how many workers may run, whether the adjacency is kept decoded, and how many bytes of it
// triangles may hold beside that.
func (s *Sizes) divideForTriangles(hops int, opt Options) (workers int, keep bool, capacity int64, err error) {
	if hops < 3 {
		return opt.Workers, false, 0, nil
	}
	onDisk := opt.Scratch != nil
	for workers = opt.Workers; workers > 0; workers-- {
		if s.diagonalBytes(hops, workers, onDisk) <= opt.MemoryBudget {
			rest := opt.MemoryBudget - s.triangleBytes(hops, workers, onDisk)
			kept := s.keptBytes()
			if rest-kept >= s.halfBytes() && opt.MemoryBudget-kept >= s.diagonalBytes(hops, workers, onDisk) {
				rest, keep = rest-kept, true
			}
			return workers, keep, min(rest, 4*maxHeldEntries), nil
		}
	}
	return 0, false, 0, &BudgetError{Job: "diagonal", Budget: opt.MemoryBudget, Least: s.diagonalBytes(hops, 1, onDisk)}
}

// divideForWalks returns how many workers may run, and how many entries of A are held at a time for k = 3.
func (s *Sizes) divideForWalks(hops int, opt Options) (workers int, capacity int64, err error) {
	if hops < 3 {
		return opt.Workers, 0, nil
	}
	for workers = opt.Workers; workers > 0; workers-- {
		arrays, least := s.walkBytes(hops, workers, opt.Scratch != nil)
		if rest := opt.MemoryBudget - arrays; rest >= least {
			return workers, rest / s.entryBytes(), nil
		}
	}
	arrays, least := s.walkBytes(hops, 1, opt.Scratch != nil)
	return 0, 0, &BudgetError{Job: "diagonal", Budget: opt.MemoryBudget, Least: arrays + least}
}

// halfBytes is the lists of the neighbours before each node, which have each edge once.
func (s *Sizes) halfBytes() int64 { return 4*(s.Entries/2+int64(s.Nodes)) + heldBytes(0) }

// keptBytes is the decoded adjacency.
func (s *Sizes) keptBytes() int64 { return 4 * s.Entries }

// LeastForDiagonals is the least MemoryBudget with which ComputeDiagonals works where Options.Scratch is set.
func (s *Sizes) LeastForDiagonals(hops int) int64 {
	if s.Weighted {
		arrays, least := s.walkBytes(hops, 1, true)
		return arrays + least
	}
	return s.diagonalBytes(hops, 1, true)
}

// diagonalBytes is the most that a hop holds, if triangles hold as few lists as possible.
func (s *Sizes) diagonalBytes(hops, workers int, onDisk bool) int64 {
	most := s.diagonalArrays(hops, workers, onDisk)
	if hops >= 3 {
		most = max(most, s.triangleBytes(hops, workers, onDisk)+heldBytes(s.mostBefore())+heldBytes(0))
	}
	if hops >= 4 {
		most = max(most, s.meetBytes(hops, workers, onDisk))
	}
	return most
}

// mostBefore bounds the neighbours of a node that are before it.
func (s *Sizes) mostBefore() int64 {
	return min(int64(s.MaxDegree), 1+int64(math.Sqrt(float64(s.Entries))))
}

// diagonalArrays is the bytes that are held at every hop: degrees, ranks, and what is not on disk of results and
// neighbours before.
func (s *Sizes) diagonalArrays(hops, workers int, onDisk bool) int64 {
	node := int64(4)
	if !s.Ranked {
		node += 4 + 4 // ranks, and degrees by rank or, before those, what is sorted
	}
	if !onDisk {
		node += 8*int64(hops) + 4
	}
	return node*int64(s.Nodes) + int64(workers)*(s.bufferBytes()+4*int64(s.MaxDegree))
}

// sumBytes is the fixed-point sums.
func (s *Sizes) sumBytes(workers int) int64 { return 8 * (int64(s.Nodes) + int64(workers*s.hubs())) }

// triangleBytes is all that triangles hold but the lists of ranks that are no hubs.
func (s *Sizes) triangleBytes(hops, workers int, onDisk bool) int64 {
	hubs := int64(s.hubs())
	maps := 8*int64(hubMapWords(s.hubs())) + 8*hubs
	worker := int64(s.Nodes)/8 + 8 + 16*(hubs+kernel.ClosingSlack) + 4*hubs +
		int64(unsafe.Sizeof(kernel.MapWord{}))*kernel.MostMapWords(hubs) +
		int64(unsafe.Sizeof(triangleScratch{}))
	return s.diagonalArrays(hops, workers, onDisk) + s.sumBytes(workers) + maps + int64(workers)*worker
}

// walkBytes is the memory of so many workers on a weighted graph: rows of A, least at the least, and
// arrays.
func (s *Sizes) walkBytes(hops, workers int, onDisk bool) (arrays, least int64) {
	n := int64(s.Nodes)
	arrays, worker := n*s.scaleBytes(), s.bufferBytes()
	if !onDisk {
		arrays += 8 * n * int64(hops)
	}
	if hops >= 3 {
		arrays += 8 * n // offsets, or counts for the price
		worker += 8 * n
		least = s.entryBytes() * int64(s.MaxDegree)
	}
	if hops >= 4 {
		worker += 4 * n
		least = s.entryBytes() * s.Entries
	}
	return arrays + int64(workers)*worker, least
}

// meetBytes is the memory for k ≥ 4: all of the adjacency, its offsets, the scale, and the sums of each worker.
func (s *Sizes) meetBytes(hops, workers int, onDisk bool) int64 {
	n := int64(s.Nodes)
	return s.diagonalArrays(hops, workers, onDisk) + 4*s.Entries + 16*n + 12*int64(workers)*n
}

// hubs is the number of first ranks of which triangles hold a map of neighbours: 3√m of them take 9/16 m bytes.
func (s *Sizes) hubs() int {
	hubs := int(3 * math.Sqrt(float64(s.Entries/2)))
	return min(s.Nodes, (hubs+63)/64*64)
}
