package ops

import (
	"context"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// A Graph is the input of the operators: its adjacency is read in blocks of consecutive nodes. It is simple and
// undirected, and has weights if it is a WeightedGraph. *kv.Tx satisfies it for a simple graph, *kv.Undirected for any.
// Its methods are called from many goroutines at once, ReadAdjacency with a buffer each.
type Graph interface {
	NumNodes() int
	// AdjacencyBlocks returns the ranges that ReadAdjacency takes, ascending, covering 0 ≤ v < NumNodes.
	AdjacencyBlocks() ([]kv.Range, error)
	// ReadAdjacency fills buf with the lists of r, each ascending, without v itself and without repeats.
	ReadAdjacency(r kv.Range, buf *kv.Adjacency) error
}

// A walker reads the adjacency of a graph block by block, with one buffer a worker that it keeps from walk to walk.
type walker struct {
	graph    Graph
	weighted bool
	nodes    int
	blocks   []kv.Range
	bufs     []kv.Adjacency
	lists    *keptLists   // nil: lists are read anew at every walk
	series   bool         // lists stay for the next operator
	bytes    atomic.Int64 // encoded adjacency read, until somebody takes it
}

// keptLists are the lists of all nodes, decoded at one walk for those after it.
type keptLists struct {
	degrees   []uint32
	starts    []int64 // of the blocks, and where the last one ends
	neighbors offheap.Array[kv.NodeID]
	complete  bool
}

func newWalker(g Graph, workers int) (*walker, error) {
	if s, ok := g.(*Series); ok {
		g = s.Graph
	}
	blocks, err := g.AdjacencyBlocks()
	if err != nil {
		return nil, err
	}
	w := &walker{
		graph: g, weighted: isWeighted(g), nodes: g.NumNodes(), blocks: blocks, bufs: make([]kv.Adjacency, workers),
	}
	next := kv.NodeID(0)
	for _, r := range blocks {
		if r.First != next || r.End <= r.First {
			return nil, fmt.Errorf("%w: got the block of nodes %d to %d, want one that begins at node %d",
				ErrGraph, r.First, r.End, next)
		}
		next = r.End
	}
	if int(next) != w.nodes {
		return nil, fmt.Errorf("%w: its blocks end at node %d, want %d", ErrGraph, next, w.nodes)
	}
	return w, nil
}

// limit keeps only so many workers, and of the others no block.
func (w *walker) limit(workers int) {
	clear(w.bufs[workers:])
	w.bufs = w.bufs[:workers:workers]
}

// keep makes the next walk keep the lists of all nodes in memory, 4 bytes an entry, until free.
func (w *walker) keep(degrees []uint32) (err error) {
	if w.lists != nil {
		return nil
	}
	k := &keptLists{degrees: degrees, starts: make([]int64, 0, len(w.blocks)+1)}
	entries := int64(0)
	for _, r := range w.blocks {
		k.starts = append(k.starts, entries)
		for _, degree := range degrees[r.First:r.End] {
			entries += int64(degree)
		}
	}
	k.starts = append(k.starts, entries)
	if k.neighbors, err = offheap.New[kv.NodeID](int(entries)); err != nil {
		return fmt.Errorf("%d entries: %w", entries, err)
	}
	w.lists = k
	return nil
}

// free gives back what keep took. What the next operator of a Series may want stays, and no block of a worker.
func (w *walker) free() error {
	if w.series {
		w.bufs = nil
		return nil
	}
	return w.drop()
}

// drop gives back the memory that keep took.
func (w *walker) drop() error {
	if w.lists == nil {
		return nil
	}
	clear(w.bufs) // some lists are in the memory that goes
	k := w.lists
	w.lists = nil
	return k.neighbors.Free()
}

// walk calls visit once for every block, concurrently for different workers. The adjacency is borrowed for the call.
func (w *walker) walk(ctx context.Context, visit func(ctx context.Context, worker int, adj *kv.Adjacency) error) error {
	return w.walkBlocks(ctx, 0, len(w.blocks), visit)
}

// walkBlocks visits the blocks first ≤ i < end.
func (w *walker) walkBlocks(
	ctx context.Context, first, end int, visit func(ctx context.Context, worker int, adj *kv.Adjacency) error,
) error {
	err := parallel.Do(ctx, len(w.bufs), end-first, func(ctx context.Context, worker, i int) error {
		adj := &w.bufs[worker]
		if err := w.read(first+i, adj); err != nil {
			return err
		}
		return visit(ctx, worker, adj)
	})
	if err == nil && w.lists != nil && end-first == len(w.blocks) {
		w.lists.complete = true
	}
	return err
}

func (w *walker) read(block int, adj *kv.Adjacency) error {
	var room []kv.NodeID
	if k := w.lists; k != nil {
		room = k.neighbors.Data[k.starts[block]:k.starts[block+1]:k.starts[block+1]]
		if k.complete {
			k.offsets(w.blocks[block], adj)
			adj.Neighbors = room
			return nil
		}
		adj.Neighbors = room[:0] // where there is room for what is decoded
	}
	if err := w.graph.ReadAdjacency(w.blocks[block], adj); err != nil {
		return err
	}
	w.bytes.Add(adj.BytesRead)
	if err := w.check(w.blocks[block], adj); err != nil {
		return err
	}
	if w.lists == nil {
		return nil
	}
	if err := w.lists.checkDegrees(adj); err != nil {
		return err
	}
	if unsafe.SliceData(adj.Neighbors) != unsafe.SliceData(room) {
		copy(room, adj.Neighbors)
	}
	return nil
}

// offsets sets the range of adj and the offsets of its lists.
func (k *keptLists) offsets(r kv.Range, adj *kv.Adjacency) {
	adj.Range, adj.Offsets = r, append(adj.Offsets[:0], 0)
	end := int64(0)
	for _, degree := range k.degrees[r.First:r.End] {
		end += int64(degree)
		adj.Offsets = append(adj.Offsets, end)
	}
}

// checkDegrees compares the lengths of the lists of adj with the degrees that say where they are kept.
func (k *keptLists) checkDegrees(adj *kv.Adjacency) error {
	for i, degree := range k.degrees[adj.First:adj.End] {
		if length := adj.Offsets[i+1] - adj.Offsets[i]; length != int64(degree) {
			return fmt.Errorf("%w: node %d has %d neighbours, want the %d it had",
				ErrGraph, int(adj.First)+i, length, degree)
		}
	}
	return nil
}

// check guards the arrays that are indexed by what a graph says.
func (w *walker) check(want kv.Range, adj *kv.Adjacency) error {
	return kernel.CheckLists(adj, want, w.nodes, w.weighted)
}
