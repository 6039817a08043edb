package shell

import (
	"cmp"
	"slices"

	"github.com/graphcleaner/graphcleaner/ops"
)

// An edgeSample is a uniform sample of the edges of a graph that is not stored yet. Its nodes are the ends of these edges.
type edgeSample struct {
	share    float64     // of all edges
	nodes    int         // the numbers of the ends are less
	edges    [][2]uint32 // without self loops and parallel ones
	arcs     [][2]uint32 // likewise, each from its first end to its second; nil unless they are walked along their direction
	weighted bool
}

func newEdgeSample(edges [][2]uint32, nodes int, share float64, directed bool) *edgeSample {
	s := &edgeSample{share: share, nodes: nodes, edges: distinctEdges(edges, false)}
	if directed {
		s.arcs = distinctEdges(edges, true)
	}
	return s
}

// distinctEdges leaves out self loops, and all but one of parallel edges: arcs back and forth are parallel if they are no arcs.
func distinctEdges(edges [][2]uint32, arcs bool) (out [][2]uint32) {
	for _, e := range edges {
		if e[0] == e[1] {
			continue
		}
		if !arcs && e[0] > e[1] {
			e[0], e[1] = e[1], e[0]
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b [2]uint32) int {
		return cmp.Compare(uint64(a[0])<<32|uint64(a[1]), uint64(b[0])<<32|uint64(b[1]))
	})
	return slices.Compact(out)
}

// counts is how many edges each node is an end of, the first or the second.
func (s *edgeSample) counts(edges [][2]uint32, ends ...int) []uint32 {
	counts := make([]uint32, s.nodes)
	for _, e := range edges {
		for _, end := range ends {
			counts[e[end]]++
		}
	}
	return counts
}

// degrees estimates the degrees in the whole graph of the nodes in the sample, descending. They count neighbours of both
// directions.
func (s *edgeSample) degrees() []uint32 {
	degrees := s.counts(s.edges, 0, 1)
	for v := range degrees {
		degrees[v] = uint32(float64(degrees[v])/s.share + 0.5)
	}
	slices.SortFunc(degrees, func(a, b uint32) int { return cmp.Compare(b, a) })
	return degrees
}

// entries is the number of entries of the adjacency of the whole graph.
func (c *edgeCount) entries() int64 {
	if c.sample.arcs == nil {
		return 2 * c.edges
	}
	return int64(float64(c.edges) * float64(len(c.sample.arcs)) / float64(max(len(c.sample.edges), 1)))
}

// sizes are those of the graph of so many nodes, once it is loaded.
func (c *edgeCount) sizes(nodes int, load *loadEstimate, degrees []uint32) *ops.Sizes {
	s := c.sample
	directed := s.arcs != nil
	sizes := &ops.Sizes{
		Nodes: nodes, Linked: nodes, Entries: c.entries(), MaxRows: load.largestRows, MaxEntries: load.largestEntries,
		Directed: directed, Weighted: s.weighted, Ranked: !directed && !s.weighted, // a load numbers nodes by degree
	}
	if s.share == 1 { // a part of the edges misses nodes of few neighbours
		sizes.Linked = min(max(s.nodes, 1), nodes)
	}
	if len(degrees) > 0 {
		sizes.MaxDegree = degrees[0]
	}
	return sizes
}

// steps estimates what ops.DiagonalSteps counts in the whole graph; if the sample has all edges, it is that. A pair of edges is
// in the sample with the square of the chance of one, a path of three with its cube.
func (s *edgeSample) steps(hops int) float64 {
	if hops < 3 {
		return 0
	}
	rows := s.counts(s.edges, 0, 1)
	columns, sides := rows, 1.0
	if s.arcs != nil {
		rows, columns, sides = s.counts(s.arcs, 0), s.counts(s.arcs, 1), 2
	}
	wedges, paths := 0.0, 0.0
	for v := range rows {
		wedges += float64(rows[v]) * float64(columns[v])
	}
	pairs := wedges
	if s.arcs == nil && !s.weighted {
		pairs = s.triangleProbes(rows)
	}
	if hops >= 4 {
		pairs += sides * wedges
	}
	if hops >= 5 {
		paths = sides*wedges + s.reached(rows)
	}
	return pairs/(s.share*s.share) + paths/(s.share*s.share*s.share)
}

// triangleProbes counts the pairs of neighbours of each node that are of greater degree than it.
func (s *edgeSample) triangleProbes(degrees []uint32) (probes float64) {
	before := make([]float64, s.nodes)
	for _, e := range s.edges {
		if later := e[1]; degrees[e[0]] >= degrees[later] { // ties are ordered by number
			before[later]++
		} else {
			before[e[0]]++
		}
	}
	for _, count := range before {
		probes += count * (count - 1) / 2
	}
	return probes
}

// reached counts, for every node, the entries of all lists that are two steps away, at most all there are.
func (s *edgeSample) reached(rows []uint32) (sum float64) {
	edges, all := s.arcs, float64(len(s.arcs))
	if edges == nil {
		edges, all = s.edges, 2*float64(len(s.edges))
	}
	reach := make([]float64, s.nodes)
	for v, length := range rows {
		reach[v] = float64(length)
	}
	for range 2 {
		next := make([]float64, s.nodes)
		for _, e := range edges {
			next[e[0]] += reach[e[1]]
			if s.arcs == nil {
				next[e[1]] += reach[e[0]]
			}
		}
		for v := range next {
			next[v] = min(next[v], all)
		}
		reach = next
	}
	for _, entries := range reach {
		sum += entries
	}
	return sum
}
