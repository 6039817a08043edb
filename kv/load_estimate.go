package kv

import (
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/gap"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/load"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
)

// LoadCounts describes a graph before it is loaded.
type LoadCounts struct {
	Nodes int64
	Rows  int64 // of the edges file, with self loops and parallel edges
	Edges int64 // pairs of nodes, without self loops and parallel edges

	// Degrees are those of the nodes that have one, descending; estimates will do. They count neighbours.
	Degrees []uint32

	// IDBytes are the bytes of all ids that are not found by their value; zero if they are small integers.
	IDBytes int64

	// WeightBytes are those of the weight of an edge, or an arc, on disk: 1 if there are at most 256 weights, else 4.
	WeightBytes int64

	// AdjacencyBytes, if not zero, is LoadEstimate.AdjacencyBytes of an earlier estimate of the same counts. That saves
	// time.
	AdjacencyBytes int64
}

// A MemoryUse is the memory in use at one time, in bytes: Mapped outside of the Go heap, and Live on it. Blank is the part
// of Live that was never written to. It takes no memory, but the garbage collector counts it.
type MemoryUse struct{ Mapped, Live, Blank int64 }

// And returns the sum of both.
func (m MemoryUse) And(other MemoryUse) MemoryUse {
	return MemoryUse{m.Mapped + other.Mapped, m.Live + other.Live, m.Blank + other.Blank}
}

// A LoadEstimate is the expected memory and disk space of a load.
type LoadEstimate struct {
	// Reading is held while nodes and edges are added and their ids looked up, Sorting while parallel edges are
	// collapsed, Arcs while both directions of edges are sorted, Writing while the adjacency is written, and Columns
	// from then on.
	Reading, Sorting, Arcs, Writing, Columns MemoryUse

	// TemporaryBytes is the most on disk at once beside the store.
	TemporaryBytes int64

	// AdjacencyBytes is the size of the blocks.
	AdjacencyBytes int64

	// Spills reports that the edges, or their two directions, are sorted on disk.
	Spills bool

	// LargestRange has the rows and the entries of the largest range of AdjacencyBlocks, about.
	LargestRows, LargestEntries int
}

// MemoryAt returns the memory of a stage of LoadOptions.OnStage, at one or two moments of it. Any other name gives the
// memory of the stages after the adjacency.
func (e *LoadEstimate) MemoryAt(stage string) []MemoryUse {
	switch stage {
	case stageIDs:
		return []MemoryUse{e.Reading}
	case stageEdges:
		return []MemoryUse{e.Sorting}
	case stageAdjacency:
		return []MemoryUse{e.Arcs, e.Writing}
	}
	return []MemoryUse{e.Columns}
}

// EstimateLoad estimates a load with these options from counts.
func EstimateLoad(c LoadCounts, opt LoadOptions) LoadEstimate {
	if opt.MemoryBudget == 0 {
		opt.MemoryBudget = DefaultMemoryBudget()
	}
	var e LoadEstimate
	if e.AdjacencyBytes = c.AdjacencyBytes; e.AdjacencyBytes == 0 {
		e.AdjacencyBytes = estimateAdjacency(c)
		if opt.Directed {
			e.AdjacencyBytes += 2 * c.Edges / 4
		}
		if opt.Weighted {
			e.AdjacencyBytes += 2 * c.Edges * c.WeightBytes
		}
	}
	numbers, unit := 4*c.Nodes, load.Unit(opt.MemoryBudget)
	sorting := load.EdgesFootprint(
		load.Options{MemoryBudget: opt.MemoryBudget, Directed: opt.Directed, Weighted: opt.Weighted, Workers: opt.Workers},
		c.Nodes, c.Rows, c.Edges)
	e.Spills = sorting.Files > 0
	e.Reading.Mapped = sorting.Reading + c.IDBytes
	e.Sorting.Mapped = sorting.Sorting + numbers
	e.Arcs = storeOfLoad().And(MemoryUse{Mapped: sorting.Arcs + numbers})
	e.Writing = storeOfLoad().And(MemoryUse{Mapped: sorting.Writing + numbers})
	// Positions of NodeIDs, and columns that are sorted by NodeID.
	e.Columns = MemoryUse{Mapped: numbers, Live: numbers + min(unit, 3*24*c.Nodes)}
	e.Columns = e.Columns.And(WritingStore(unit, 8*c.Nodes, false)) // the indexes; the load itself holds less
	e.TemporaryBytes = c.IDBytes + 8*c.Nodes + sorting.Files
	perEntry := max(float64(e.AdjacencyBytes)/float64(max(2*c.Edges, 1)), 1)
	e.LargestRows = min(int(c.Nodes), graph.ScanParts*graph.BlockTarget)
	e.LargestEntries = int(float64(graph.ScanParts*graph.BlockTarget) / perEntry)
	if len(c.Degrees) > 0 {
		e.LargestEntries = max(e.LargestEntries, int(c.Degrees[0]))
	}
	return e
}

// WritingStore estimates the memory of a store with a budget, after written bytes were written to it. With closing it
// estimates the memory during Close.
func WritingStore(budget, written int64, closing bool) MemoryUse {
	table := lsm.MemTableOf(max(budget, minMemoryBudget))
	arena := arenaBytes(table)
	tables := min(written/table, lsm.WaitingMemTables) + 1
	filled := min(written, tables*table)
	built := int64(0) // of the file that a table in memory becomes
	if closing || written > table {
		built = min(written, table)
	}
	return MemoryUse{Live: tables*arena + built, Blank: tables*arena - filled}
}

// arenaBytes is what a memtable takes: Badger makes room for two batches more.
func arenaBytes(memTable int64) int64 { return memTable + 2*(memTable*15/100) }

// storeOfLoad is what the store of a load holds, whose tables are not written through it.
func storeOfLoad() MemoryUse {
	const opened = 2 // times, as the tables of the dictionary come first
	return MemoryUse{Live: opened * arenaBytes(lsm.MinMemTable)}
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
			list := make([]NodeID, min(degree, graph.HubDegree))
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
