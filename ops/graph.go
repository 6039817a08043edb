package ops

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A Graph is what the operators walk: a simple undirected graph whose adjacency is read in blocks of consecutive
// nodes. *kv.Tx satisfies it. Its methods are called from many goroutines at once, ReadAdjacency with a buffer each.
type Graph interface {
	NumNodes() int
	// AdjacencyBlocks returns the ranges that ReadAdjacency takes, ascending, covering 0 ≤ v < NumNodes.
	AdjacencyBlocks() ([]kv.Range, error)
	// ReadAdjacency fills buf with the lists of r, each ascending, without v itself and without repeats.
	ReadAdjacency(r kv.Range, buf *kv.Adjacency) error
}

// A walker reads the adjacency of a graph block by block, with one buffer a worker that it keeps from walk to walk.
type walker struct {
	graph  Graph
	nodes  int
	blocks []kv.Range
	bufs   []kv.Adjacency
	bytes  atomic.Int64 // encoded adjacency read, until somebody takes it
}

func newWalker(g Graph, workers int) (*walker, error) {
	blocks, err := g.AdjacencyBlocks()
	if err != nil {
		return nil, err
	}
	w := &walker{graph: g, nodes: g.NumNodes(), blocks: blocks, bufs: make([]kv.Adjacency, workers)}
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

// limit keeps only so many workers.
func (w *walker) limit(workers int) { w.bufs = w.bufs[:workers:workers] }

// walk calls visit once for every block, concurrently for different workers. The adjacency is borrowed for the call.
func (w *walker) walk(ctx context.Context, visit func(ctx context.Context, worker int, adj *kv.Adjacency) error) error {
	return Parallel(ctx, len(w.bufs), len(w.blocks), func(ctx context.Context, worker, block int) error {
		adj := &w.bufs[worker]
		if err := w.graph.ReadAdjacency(w.blocks[block], adj); err != nil {
			return err
		}
		w.bytes.Add(adj.BytesRead)
		if err := w.check(w.blocks[block], adj); err != nil {
			return err
		}
		return visit(ctx, worker, adj)
	})
}

// check guards the arrays that are indexed by what a graph says. Lists ascend, so their last entry bounds them.
func (w *walker) check(want kv.Range, adj *kv.Adjacency) error {
	rows := int(want.End - want.First)
	if adj.Range != want || len(adj.Offsets) != rows+1 {
		return fmt.Errorf("%w: got the lists of nodes %d to %d with %d offsets, want nodes %d to %d",
			ErrGraph, adj.First, adj.End, len(adj.Offsets), want.First, want.End)
	}
	for i := range rows {
		if list := adj.Neighbors[adj.Offsets[i]:adj.Offsets[i+1]]; len(list) > 0 && int(list[len(list)-1]) >= w.nodes {
			return fmt.Errorf("%w: node %d has the neighbour %d, want less than %d",
				ErrGraph, int(want.First)+i, list[len(list)-1], w.nodes)
		}
	}
	return nil
}
