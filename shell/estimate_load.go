package shell

import (
	"math"
	"math/bits"

	"github.com/graphcleaner/graphcleaner/internal/parallel"
)

// A loadedGraph has the counts of a graph that is to be loaded.
type loadedGraph struct {
	nodes int64
	rows  int64 // of the edges file, with self loops and parallel edges
	edges int64 // pairs of nodes, without self loops and parallel edges

	directed bool

	// degrees are those of the nodes that have one, descending; estimates will do. They count neighbours.
	degrees []uint32

	// idBytes are the bytes of all ids that are not found by their value; zero if they are small integers.
	idBytes int64

	// weightBytes are those of the weight of an edge, or an arc, on the disk: 1 if there are at most 256 weights, else
	// 4; zero if edges have no weights.
	weightBytes int64
}

// memoryUse is the memory in use at one time, in bytes: mapped outside of the Go heap, and live on it. Blank is the
// part of live that was never written to. It takes no memory, but the garbage collector counts it.
type memoryUse struct{ mapped, live, blank int64 }

// and returns the sum of both.
func (m memoryUse) and(other memoryUse) memoryUse {
	return memoryUse{m.mapped + other.mapped, m.live + other.live, m.blank + other.blank}
}

// A loadEstimate has the expected memory and disk space of a load.
type loadEstimate struct {
	// moments are what is held while nodes and edges are added and their ids looked up, while parallel edges are
	// collapsed, while both directions of edges are sorted, while the adjacency is written, and from then on.
	moments []memoryUse

	temporaryBytes int64 // the most on disk at once beside the store
	adjacencyBytes int64

	// largestRows and largestEntries are about those of the largest range of kv.Tx.AdjacencyBlocks.
	largestRows, largestEntries int
}

// estimateLoad estimates a load with a memory budget and a number of workers, as in kv.LoadOptions.
func (g loadedGraph) estimateLoad(budget int64, workers int) *loadEstimate {
	const rangeBytes = 64 << 10 // of adjacency
	var e loadEstimate
	e.adjacencyBytes = g.listBytes() + 2*g.edges*g.weightBytes
	if g.directed {
		e.adjacencyBytes += 2 * g.edges / 4
	}
	edges, numbers := g.sorting(budget, workers), memoryUse{mapped: 4 * g.nodes}
	// The store is open from the second sort on. The tables of the dictionary come first.
	opened := memoryUse{live: 2 * arenaBytes(leastMemTable)}
	unwritten := opened
	unwritten.blank = opened.live
	// Positions of NodeIDs, and columns that are sorted by NodeID.
	unit := budget / 4
	columns := numbers.and(memoryUse{live: 4*g.nodes + min(unit, 3*24*g.nodes)})
	e.moments = []memoryUse{
		{mapped: edges.adding + g.idBytes},
		numbers.and(memoryUse{mapped: edges.collapsing}),
		numbers.and(memoryUse{mapped: edges.turning}).and(unwritten),
		numbers.and(memoryUse{mapped: edges.writing}).and(opened),
		columns.and(writingStore(unit, 8*g.nodes, false)), // the indexes; the load itself holds less
	}
	e.temporaryBytes = g.idBytes + 8*g.nodes + edges.files
	perEntry := max(float64(e.adjacencyBytes)/float64(max(2*g.edges, 1)), 1)
	e.largestRows, e.largestEntries = min(int(g.nodes), rangeBytes), int(rangeBytes/perEntry)
	if len(g.degrees) > 0 {
		e.largestEntries = max(e.largestEntries, int(g.degrees[0]))
	}
	return &e
}

// edgeSorting is what sorting the edges takes in memory: while they are added, while parallel ones are collapsed, while
// their two directions are sorted, and while these are written; and in files.
type edgeSorting struct{ adding, collapsing, turning, writing, files int64 }

// sorting divides the budget as the load does: an eighth is for the index of ids, a fourth for the store.
func (g loadedGraph) sorting(budget int64, workers int) edgeSorting {
	memory := max(budget*5/8-8*g.nodes, budget/8)
	key, width := int64(8), 2*bits.Len64(uint64(max(g.nodes-1, 0)))
	if g.directed || g.weightBytes > 0 {
		key = 16
	}
	if g.directed {
		width++
	}
	rows := sortKeys(memory, g.rows, key, width, workers)
	left := memory
	if key*2*g.edges*2 > memory && rows.file == 0 { // both do not fit beside each other
		left = max(memory-rows.reading, memory/4)
	}
	ends := sortKeys(left, 2*g.edges, key, width, workers)
	turning := ends.adding
	if ends.file == 0 {
		turning /= 2 // chunks alone
	}
	return edgeSorting{
		adding: rows.adding, collapsing: rows.reading,
		turning: max(rows.reading+turning, ends.adding), // once all are added the rows go
		writing: ends.reading, files: rows.file + ends.file,
	}
}

// keySorting is the most that a sort takes while keys are added and sorted, while they are read, and in its file.
type keySorting struct{ adding, reading, file int64 }

// sortKeys estimates the sort of so many keys of a number of bytes, spread evenly below 2^width, as spill.Numbers
// divides its memory.
func sortKeys(memory, count, key int64, width, workers int) keySorting {
	const least, leaf, longestRun, longestRange = 1 << 9, 1 << 14, 1 << 25, 1 << 22 // keys
	most, readers := max(memory/(2*key), least), int64(2*parallel.Workers(workers))
	if count < most-most/8 {
		return keySorting{adding: 2 * key * count, reading: key*count + readers*key*leaf}
	}
	run := min(most, longestRun)
	// Of a key the gap to the one before in its run is written, seven bits a byte.
	gap := max(bits.Len64(1<<width/uint64(min(count, run))), 1)
	return keySorting{
		adding:  key * (most + run),
		reading: readers * 2 * key * min(max(memory/(8*key)/readers, least), longestRange),
		file:    count * (int64((gap+6)/7) + (key-8)/2),
	}
}

// listBytes is about the bytes of the lists of a graph of these degrees whose edges are drawn at random, each end
// with a chance in proportion to its degree. Then the gap before a neighbour of degree d in a list of c neighbours is
// about the sum of all degrees over c·d. The result is within a fifth of what the encoder makes of such lists.
func (g loadedGraph) listBytes() int64 {
	const beside, list = 4.7, 8 // bits of a neighbour beside its gap, and of a list; measured
	total, logs := 0.0, 0.0
	for _, d := range g.degrees {
		total += float64(d)
		logs += float64(d) * math.Log2(max(float64(d), 1))
	}
	if total == 0 {
		return g.nodes / 8
	}
	gap := max(0, math.Log2(total)-2*logs/total)
	return int64((gap+beside)*float64(2*g.edges)+list*float64(g.nodes)) / 8
}

// matrixDiskBytes estimates what a matrix of float32 takes on the disk, of whose values a share is not zero, and those
// all equal or not.
func matrixDiskBytes(rows int64, columns int, filled float64, equal bool) int64 {
	const number, place, count = 4, 1, 1 // bytes of a value, of its column in a tile, and of the number of values of a row in a tile
	value := number + place
	if equal {
		value = place
	}
	tile := 16 * max(1, (columns+1023)/1024) // columns
	tiles := (columns + tile - 1) / tile
	row := min(float64(columns)*number, float64(tiles*count)+float64(columns)*filled*float64(value))
	return int64(row * float64(rows))
}

// leastMemTable is the size of the tables in memory of a store of little memory.
const leastMemTable = 8 << 20

// writingStore estimates the memory of a store with a budget, after written bytes were written to it. With closing it
// estimates the memory during Close.
func writingStore(budget, written int64, closing bool) memoryUse {
	const waiting = 2 // tables beside the one that is written, at most
	table := min(max(budget/8, leastMemTable), 64<<20)
	tables := min(written/table, waiting) + 1
	built := int64(0) // of the file that a table in memory becomes
	if closing || written > table {
		built = min(written, table)
	}
	arenas := tables * arenaBytes(table)
	return memoryUse{live: arenas + built, blank: arenas - min(written, tables*table)}
}

// arenaBytes is what a table in memory takes: Badger makes room for two batches more.
func arenaBytes(memTable int64) int64 { return memTable + 2*(memTable*15/100) }
