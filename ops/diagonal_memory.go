package ops

import (
	"math"
	"unsafe"
)

// divideBudget returns how many workers may run, whether the adjacency is kept decoded, and how many bytes of it triangles
// may hold beside that.
func divideBudget(hops int, s *Sizes, opt Options) (workers int, keep bool, capacity int64, err error) {
	if hops < 3 {
		return opt.Workers, false, 0, nil
	}
	onDisk := opt.Scratch != nil
	for workers = opt.Workers; workers > 0; workers-- {
		if s.diagonalBytes(hops, workers, onDisk) <= opt.MemoryBudget {
			rest := opt.MemoryBudget - s.triangleBytes(hops, workers, onDisk)
			kept := s.keptBytes()
			if rest-kept >= 4*(s.entries/2+int64(s.nodes))+heldBytes(0) &&
				opt.MemoryBudget-kept >= s.diagonalBytes(hops, workers, onDisk) {
				rest, keep = rest-kept, true
			}
			return workers, keep, min(rest, 4*maxHeldEntries), nil
		}
	}
	return 0, false, 0, &BudgetError{Job: "diagonal", Budget: opt.MemoryBudget, Least: s.diagonalBytes(hops, 1, onDisk)}
}

// keptBytes is the decoded adjacency.
func (s *Sizes) keptBytes() int64 { return 4 * s.entries }

// LeastForDiagonals is the least MemoryBudget with which ComputeDiagonals works where Options.Scratch is set.
func (s *Sizes) LeastForDiagonals(hops int) int64 {
	if !s.isSimple() {
		arrays, least := s.walkHeldBytes(hops, 1, true)
		return arrays + least
	}
	return s.diagonalBytes(hops, 1, true)
}

// diagonalBytes is what the hop that holds most holds, where triangles hold no more than they must.
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
	return min(int64(s.maxDegree), 1+int64(math.Sqrt(float64(s.entries))))
}

// diagonalArrays is the bytes that are held at every hop: degrees, ranks, and what is not on disk of results and
// neighbours before.
func (s *Sizes) diagonalArrays(hops, workers int, onDisk bool) int64 {
	node := int64(4)
	if !s.ranked {
		node += 4 + 4 // ranks, and degrees by rank or, before those, what is sorted
	}
	if !onDisk {
		node += 8*int64(hops) + 4
	}
	return node*int64(s.nodes) + int64(workers)*(s.bufferBytes()+4*int64(s.maxDegree))
}

// sumBytes is the fixed-point sums.
func (s *Sizes) sumBytes(workers int) int64 { return 8 * (int64(s.nodes) + int64(workers*s.hubs())) }

// triangleBytes is all that triangles hold but the lists of ranks that are no hubs.
func (s *Sizes) triangleBytes(hops, workers int, onDisk bool) int64 {
	hubs := int64(s.hubs())
	maps := 8*int64(hubMapWords(s.hubs())) + 8*hubs
	worker := int64(s.nodes)/8 + 8 + 16*(hubs+closingSlack) + 4*hubs + int64(unsafe.Sizeof(mapWord{}))*mostMapWords(hubs) +
		int64(unsafe.Sizeof(triangleScratch{}))
	return s.diagonalArrays(hops, workers, onDisk) + s.sumBytes(workers) + maps + int64(workers)*worker
}

// meetBytes is what k ≥ 4 holds: all of the adjacency, its offsets, the scale, and the sums of each worker.
func (s *Sizes) meetBytes(hops, workers int, onDisk bool) int64 {
	n := int64(s.nodes)
	return s.diagonalArrays(hops, workers, onDisk) + 4*s.entries + 16*n + 12*int64(workers)*n
}

// hubs is the number of first ranks of which triangles hold a map of neighbours: 3√m of them take 9/16 m bytes.
func (s *Sizes) hubs() int {
	hubs := int(3 * math.Sqrt(float64(s.entries/2)))
	return min(s.nodes, (hubs+63)/64*64)
}
