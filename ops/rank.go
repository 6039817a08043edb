package ops

import (
	"cmp"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A rank is the place of a node when all are sorted by descending degree, ties by NodeID. Cycles are found from their
// node of least rank; no node has more than √(2m) neighbours of a lesser rank, which keeps the search short where
// there are hubs. After a bulk load ranks are NodeIDs; edges added since may part them.
type rank uint32

// rankNodes returns the rank of every node, or nil where it is the NodeID.
func rankNodes(degrees []uint32) []rank {
	if slices.IsSortedFunc(degrees, func(a, b uint32) int { return cmp.Compare(b, a) }) {
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
	ranks   []rank   // nil where ranks are NodeIDs
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

// byNode returns values [n] by NodeID, given by rank; the same slice where the two are one.
func (g *rankedGraph) byNode(values []float64) []float64 {
	if g.ranks == nil {
		return values
	}
	out := make([]float64, len(values))
	for v, x := range g.ranks {
		out[v] = values[x]
	}
	return out
}

// row returns the rank of node i of adj and its neighbours, ascending, in the worker's buffer.
func (g *rankedGraph) row(worker int, adj *kv.Adjacency, i int) (rank, []rank) {
	list := g.lists[worker][:0]
	for _, u := range adj.Neighbors[adj.Offsets[i]:adj.Offsets[i+1]] {
		list = append(list, g.rank(u))
	}
	if g.ranks != nil {
		slices.Sort(list)
	}
	g.lists[worker] = list
	return g.rank(adj.First + kv.NodeID(i)), list
}

// above returns the part of an ascending list that is greater than x.
func above(list []rank, x rank) []rank {
	i, _ := slices.BinarySearch(list, x)
	if i < len(list) && list[i] == x {
		i++
	}
	return list[i:]
}
