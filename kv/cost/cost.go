// Package cost estimates the memory and the disk space of a load before it begins, and the memory of a store that is
// written to. It opens no store.
package cost

import (
	"math"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/load"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
)

// A Graph has the counts of a graph that is to be loaded.
type Graph struct {
	Nodes int64
	Rows  int64 // of the edges file, with self loops and parallel edges
	Edges int64 // pairs of nodes, without self loops and parallel edges

	Directed bool

	// Degrees are those of the nodes that have one, descending; estimates will do. They count neighbours.
	Degrees []uint32

	// IDBytes are the bytes of all ids that are not found by their value; zero if they are small integers.
	IDBytes int64

	// WeightBytes are those of the weight of an edge, or an arc, on the disk: 1 if there are at most 256 weights, else
	// 4; zero if edges have no weights.
	WeightBytes int64
}

// Memory is the memory in use at one time, in bytes: Mapped outside of the Go heap, and Live on it. Blank is the part
// of Live that was never written to. It takes no memory, but the garbage collector counts it.
type Memory struct{ Mapped, Live, Blank int64 }

// And returns the sum of both.
func (m Memory) And(other Memory) Memory {
	return Memory{m.Mapped + other.Mapped, m.Live + other.Live, m.Blank + other.Blank}
}

// A Load has the expected memory and disk space of a load.
type Load struct {
	// Reading is held while nodes and edges are added and their ids looked up, Sorting while parallel edges are
	// collapsed, Arcs while both directions of edges are sorted, Writing while the adjacency is written, and Columns
	// from then on.
	Reading, Sorting, Arcs, Writing, Columns Memory

	// TemporaryBytes is the most on disk at once beside the store.
	TemporaryBytes int64

	// AdjacencyBytes is the size of the blocks.
	AdjacencyBytes int64

	// LargestRows and LargestEntries are about those of the largest range of kv.Tx.AdjacencyBlocks.
	LargestRows, LargestEntries int
}

// Moments returns the memory of all moments of the load.
func (e *Load) Moments() []Memory {
	return []Memory{e.Reading, e.Sorting, e.Arcs, e.Writing, e.Columns}
}

// OfLoad estimates a load with a memory budget and a number of workers, as in kv.LoadOptions.
func OfLoad(g Graph, budget int64, workers int) Load {
	var e Load
	e.AdjacencyBytes = adjacencyBytes(g) + 2*g.Edges*g.WeightBytes
	if g.Directed {
		e.AdjacencyBytes += 2 * g.Edges / 4
	}
	numbers, unit := 4*g.Nodes, load.Unit(budget)
	sorting := load.EdgesFootprint(
		load.Options{MemoryBudget: budget, Directed: g.Directed, Weighted: g.WeightBytes > 0, Workers: workers},
		g.Nodes, g.Rows, g.Edges)
	e.Reading.Mapped = sorting.Reading + g.IDBytes
	e.Sorting.Mapped = sorting.Sorting + numbers
	e.Arcs = loadingStore().And(Memory{Mapped: sorting.Arcs + numbers})
	e.Arcs.Blank = e.Arcs.Live // the store is open, and nothing is written to it yet
	e.Writing = loadingStore().And(Memory{Mapped: sorting.Writing + numbers})
	// Positions of NodeIDs, and columns that are sorted by NodeID.
	e.Columns = Memory{Mapped: numbers, Live: numbers + min(unit, 3*24*g.Nodes)}
	e.Columns = e.Columns.And(WritingStore(unit, 8*g.Nodes, false)) // the indexes; the load itself holds less
	e.TemporaryBytes = g.IDBytes + 8*g.Nodes + sorting.Files
	perEntry := max(float64(e.AdjacencyBytes)/float64(max(2*g.Edges, 1)), 1)
	e.LargestRows = min(int(g.Nodes), graph.ScanParts*graph.BlockTarget)
	e.LargestEntries = int(float64(graph.ScanParts*graph.BlockTarget) / perEntry)
	if len(g.Degrees) > 0 {
		e.LargestEntries = max(e.LargestEntries, int(g.Degrees[0]))
	}
	return e
}

// MatrixBytes estimates what a matrix of float32 takes on the disk, of whose values a share is not zero, and those all
// equal or not.
func MatrixBytes(rows int64, columns int, filled float64, equal bool) int64 {
	if columns == 0 {
		return 0
	}
	var e codec.MatrixEncoding
	tiles := (columns-1)/e.TileWidth(e.BlockRows(columns), columns) + 1
	// bytes of a value, of its column in a tile, and of the number of values of a row in a tile
	const number, place, count = 4, 1, 1
	value := number + place
	if equal {
		value = place
	}
	row := min(float64(columns)*number, float64(tiles*count)+float64(columns)*filled*float64(value))
	return int64(row * float64(rows))
}

// WritingStore estimates the memory of a store with a budget, after written bytes were written to it. With closing it
// estimates the memory during Close.
func WritingStore(budget, written int64, closing bool) Memory {
	table := lsm.MemTableOf(budget)
	arena := arenaBytes(table)
	tables := min(written/table, lsm.WaitingMemTables) + 1
	filled := min(written, tables*table)
	built := int64(0) // of the file that a table in memory becomes
	if closing || written > table {
		built = min(written, table)
	}
	return Memory{Live: tables*arena + built, Blank: tables*arena - filled}
}

// arenaBytes is what a memtable takes: Badger makes room for two batches more.
func arenaBytes(memTable int64) int64 { return memTable + 2*(memTable*15/100) }

// loadingStore is the memory of the store of a load, whose tables are not written through it.
func loadingStore() Memory {
	const opened = 2 // times, as the tables of the dictionary come first
	return Memory{Live: opened * arenaBytes(lsm.MinMemTable)}
}

// adjacencyBytes is about the bytes of the lists of a graph of these degrees whose edges are drawn at random, each end
// with a chance in proportion to its degree. Then the gap before a neighbour of degree d in a list of c neighbours is
// about the sum of all degrees over c·d. The result is within a fifth of what the encoder makes of such lists.
func adjacencyBytes(g Graph) int64 {
	const beside, list = 4.7, 8 // bits of a neighbour beside its gap, and of a list; measured
	total, logs := 0.0, 0.0
	for _, d := range g.Degrees {
		total += float64(d)
		logs += float64(d) * math.Log2(max(float64(d), 1))
	}
	if total == 0 {
		return g.Nodes / 8
	}
	gap := max(0, math.Log2(total)-2*logs/total)
	return int64((gap+beside)*float64(2*g.Edges)+list*float64(g.Nodes)) / 8
}
