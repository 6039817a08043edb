package ops

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"sync/atomic"
	"unsafe"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// A rank is the place of a node when all are sorted by descending degree, ties by NodeID. Triangles are found from
// their node of greatest or middle rank; no node has more than √(2m) neighbours of a lesser rank, which keeps the
// search short where there are hubs. After a bulk load ranks are NodeIDs; edges added since may part them.
type rank = kernel.Rank

func isRanked(degrees []uint32) bool {
	return slices.IsSortedFunc(degrees, func(a, b uint32) int { return cmp.Compare(b, a) })
}

// rankNodes returns the rank of every node, or nil if it is the NodeID.
func rankNodes(degrees []uint32) []rank {
	if isRanked(degrees) {
		return nil
	}
	nodes := make([]kv.NodeID, len(degrees))
	for v := range nodes {
		nodes[v] = kv.NodeID(v)
	}
	slices.SortFunc(nodes, func(u, v kv.NodeID) int {
		return cmp.Or(cmp.Compare(degrees[v], degrees[u]), cmp.Compare(u, v))
	})
	ranks := make([]rank, len(nodes))
	for i, v := range nodes {
		ranks[v] = rank(i)
	}
	return ranks
}

// A rankedGraph reads a graph with ranks in place of NodeIDs.
type rankedGraph struct {
	walker  *walker
	survey  *survey
	ranks   []rank   // nil if ranks are NodeIDs
	degrees []uint32 // by rank
	lists   [][]rank // a buffer a worker
}

func newRankedGraph(w *walker, s *survey) *rankedGraph {
	g := &rankedGraph{
		walker: w, survey: s, ranks: rankNodes(s.degrees), degrees: s.degrees, lists: make([][]rank, len(w.bufs)),
	}
	if g.ranks != nil {
		g.degrees = make([]uint32, len(s.degrees))
		for v, i := range g.ranks {
			g.degrees[i] = s.degrees[v]
		}
	}
	return g
}

func (g *rankedGraph) rank(v kv.NodeID) rank {
	if g.ranks == nil {
		return rank(v)
	}
	return g.ranks[v]
}

// delta is δ of a rank, 1/d, and zero for an isolated node.
func (g *rankedGraph) delta(x rank) float64 { return inverse(g.degrees[x]) }

func inverse(degree uint32) float64 { return kernel.Inverse(float64(degree)) }

// row returns the rank of node i of adj and its neighbours, ascending, in adj or in the worker's buffer.
func (g *rankedGraph) row(worker int, adj *kv.Adjacency, i int) (rank, []rank) {
	neighbors := adj.Neighbors[adj.Offsets[i]:adj.Offsets[i+1]]
	if g.ranks == nil {
		return rank(int(adj.First) + i), unsafe.Slice((*rank)(unsafe.SliceData(neighbors)), len(neighbors))
	}
	list := g.lists[worker][:0]
	for _, u := range neighbors {
		list = append(list, g.ranks[u])
	}
	slices.Sort(list)
	g.lists[worker] = list
	return g.ranks[int(adj.First)+i], list
}

// walk visits the rows of ranks lo ≤ x < hi, with their neighbours, ascending and borrowed. It reads no other blocks
// where ranks are NodeIDs, but tells progress of the whole graph.
func (g *rankedGraph) walk(
	ctx context.Context, s span, progress *meter,
	visit func(ctx context.Context, worker int, x rank, list []rank) error,
) error {
	blocks := g.walker.blocks
	first, end := 0, len(blocks)
	if g.ranks == nil {
		first = sort.Search(len(blocks), func(b int) bool { return rank(blocks[b].End) > s.lo })
		end = max(first, sort.Search(len(blocks), func(b int) bool { return rank(blocks[b].First) >= s.hi }))
	}
	var entries atomic.Int64
	err := g.walker.walkBlocks(ctx, first, end, func(ctx context.Context, worker int, adj *kv.Adjacency) error {
		for i := range int(adj.End - adj.First) {
			if i%256 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if x := g.rank(adj.First + kv.NodeID(i)); x < s.lo || x >= s.hi {
				continue
			}
			x, list := g.row(worker, adj, i)
			if err := visit(ctx, worker, x, list); err != nil {
				return err
			}
		}
		if progress != nil {
			entries.Add(int64(len(adj.Neighbors)))
			progress.add(len(adj.Neighbors))
		}
		return nil
	})
	if rest := g.survey.Entries - entries.Load(); err == nil && progress != nil && rest > 0 {
		progress.add(int(rest))
	}
	return err
}

// above returns the part of an ascending list that is greater than x.
func above(list []rank, x rank) []rank {
	i, _ := slices.BinarySearch(list, x)
	if i < len(list) && list[i] == x {
		i++
	}
	return list[i:]
}
