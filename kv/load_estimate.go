package kv

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/gap"
	"github.com/graphcleaner/graphcleaner/kv/spill"
)

// LoadCounts is what is known of a simple graph before it is loaded.
type LoadCounts struct {
	Nodes int64
	Rows  int64 // of edges, loops and parallel ones too
	Edges int64 // that are left of them

	// Degrees are those of the nodes that have one, descending; estimates will do.
	Degrees []uint32

	// IDBytes are the bytes of all ids that are not found by their value; zero where they are small integers.
	IDBytes int64
}

// A LoadEstimate is what a load is expected to take.
type LoadEstimate struct {
	// MemoryBytes is the most anonymous memory at once beside that of the program itself.
	MemoryBytes int64

	// TemporaryBytes is the most on disk at once beside the store.
	TemporaryBytes int64

	// AdjacencyBytes is the size of the blocks.
	AdjacencyBytes int64

	// Spills tells that the edges, or their two directions, are sorted on disk.
	Spills bool

	// LargestRange has the rows and the entries of the largest range of AdjacencyBlocks, about.
	LargestRows, LargestEntries int
}

// EstimateLoad says from counts what a load by such options will take.
func EstimateLoad(c LoadCounts, opt LoadOptions) LoadEstimate {
	if opt.MemoryBudget == 0 {
		opt.MemoryBudget = DefaultMemoryBudget()
	}
	var e LoadEstimate
	width := 2 * positionBits(c.Nodes)
	memory := sortMemory(opt.MemoryBudget, c.Nodes)
	footprint := func(memory, count int64) spill.Footprint {
		return spill.NewUint64("", memory, width, opt.Workers).Footprint(count, width)
	}
	edges := footprint(memory, c.Rows)
	held := edges.Reading
	if edges.File > 0 {
		held = 0
	}
	arcs := footprint(arcsMemory(memory, c.Edges, held), 2*c.Edges)
	adding := arcs.Sorting
	if arcs.File == 0 {
		adding /= 2 // chunks alone
	}
	e.AdjacencyBytes = estimateAdjacency(c)
	numbers := 4 * c.Nodes
	unit := loadUnit(opt.MemoryBudget)
	e.MemoryBytes = max(
		c.IDBytes+edges.Sorting,
		numbers+edges.Reading+adding, // then the edges go
		numbers+arcs.Sorting,
		numbers+arcs.Reading+storeMemory(unit, e.AdjacencyBytes),
		2*numbers+min(unit, 24*c.Nodes), // columns are sorted by NodeID
	)
	e.Spills = edges.File > 0 || arcs.File > 0
	e.TemporaryBytes = c.IDBytes + 8*c.Nodes + edges.File + arcs.File
	perEntry := max(float64(e.AdjacencyBytes)/float64(max(2*c.Edges, 1)), 1)
	e.LargestRows = min(int(c.Nodes), scanParts*adjacencyTarget)
	e.LargestEntries = int(float64(scanParts*adjacencyTarget) / perEntry)
	if len(c.Degrees) > 0 {
		e.LargestEntries = max(e.LargestEntries, int(c.Degrees[0]))
	}
	return e
}

// positionBits is the bits of the greatest position of so many nodes.
func positionBits(nodes int64) int { return bits.Len64(uint64(max(nodes-1, 0))) }

// storeMemory is what a store that so many bytes are written to holds of them, by its memory.
func storeMemory(budget, written int64) int64 {
	opt, err := badgerOptions("", Options{MemoryBudget: budget}, false)
	if err != nil {
		return budget
	}
	return min(int64(opt.NumMemtables+1)*opt.MemTableSize, written)
}

// How many runs of how many lists estimateAdjacency encodes, and of how many entries at most.
const (
	sampledRuns    = 1 << 8
	sampledLists   = 1 << 5
	sampledEntries = 1 << 20
)

// estimateAdjacency is the bytes of the lists of a graph of these degrees whose edges are drawn at random, each end with
// a chance in proportion to its degree. Some lists are encoded as they would be.
func estimateAdjacency(c LoadCounts) int64 {
	ends := make([]uint64, len(c.Degrees))
	total := uint64(0)
	for v, d := range c.Degrees {
		total += uint64(d)
		ends[v] = total
	}
	if total == 0 {
		return c.Nodes / 8
	}
	random := rand.New(rand.NewPCG(1, 1))
	var encoder gap.Encoder[NodeID]
	perEntry, runs, entries := 0.0, 0, 0
	for runs < sampledRuns && entries < sampledEntries {
		// A run is drawn by its length, so that all entries count alike.
		first, _ := slices.BinarySearch(ends, random.Uint64N(total)+1)
		for _, degree := range c.Degrees[first:min(first+sampledLists, len(c.Degrees))] {
			list := make([]NodeID, min(degree, hubDegree))
			for j := range list {
				u, _ := slices.BinarySearch(ends, random.Uint64N(total)+1)
				list[j] = NodeID(u)
			}
			slices.Sort(list)
			encoder.Append(slices.Compact(list))
		}
		perEntry += float64(encoder.Size()) / float64(max(encoder.Entries(), 1))
		entries += encoder.Entries()
		runs++
		encoder.Reset()
	}
	return int64(perEntry / float64(runs) * float64(2*c.Edges))
}
