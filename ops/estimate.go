package ops

import (
	"cmp"
	"context"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A Shape is what is known of a graph before it is loaded.
type Shape struct {
	Nodes               int
	Linked              int    // nodes that have neighbours, but 1 where none has; 0: all
	Edges               int64  // arcs, where Directed
	MaxDegree           uint32 // neighbours; those along the arcs, where Directed
	MaxRows, MaxEntries int    // of the largest range that is read at once

	// Directed is true if the graph is walked along its arcs or against them, and false if it is walked both ways.
	// Weighted is true if entries have weights.
	Directed, Weighted bool
}

// SizesOf are the Sizes that a graph will have once it is loaded.
func SizesOf(s Shape) *Sizes {
	sizes := &Sizes{
		nodes: s.Nodes, linked: cmp.Or(s.Linked, s.Nodes), entries: 2 * s.Edges, maxRows: s.MaxRows, maxEntries: s.MaxEntries, maxDegree: s.MaxDegree,
		directed: s.Directed, weighted: s.Weighted,
	}
	if s.Directed {
		sizes.entries = s.Edges
	}
	sizes.ranked = sizes.isSimple() // a load numbers nodes by degree
	return sizes
}

// Edges is the number of edges, or of arcs of a directed graph.
func (s *Sizes) Edges() int64 { return s.edges() }

// A DiagonalPlan is the work of ComputeDiagonals, known before any of it is done.
type DiagonalPlan struct {
	Steps float64 // elementary, such as looking at one neighbour; at most
	// MemoryBytes is what counts towards Options.MemoryBudget, ScratchBytes the size of the results and scratch arrays.
	MemoryBytes, ScratchBytes int64
	// Refusal is the error of ComputeDiagonals if Steps is above Options.MaxPrice, else nil.
	Refusal *PriceError
}

// refuse sets Refusal.
func (p *DiagonalPlan) refuse(hops int, limit float64) {
	if p.Steps > limit {
		p.Refusal = &PriceError{Hops: hops, Price: p.Steps, Limit: limit}
	}
}

// DiagonalBytes is the most that DiagonalPlan.ScratchBytes is.
func DiagonalBytes(hops, nodes int) int64 { return (8*int64(hops) + 4) * int64(nodes) }

// PlanDiagonals walks a graph to count the degrees and the steps, and returns the plan of ComputeDiagonals.
func PlanDiagonals(ctx context.Context, g Graph, hops int, opt Options) (plan DiagonalPlan, err error) {
	opt = opt.withDefaults()
	w, err := newWalker(g, opt.Workers)
	if err != nil {
		return plan, err
	}
	s, err := w.survey(ctx, opt)
	if err != nil {
		return plan, err
	}
	if !w.isSimple() {
		return planWalks(ctx, w, s, 1, hops, opt)
	}
	return planSurvey(ctx, w, s, 1, hops, opt)
}

// planSurvey plans the diagonals of a graph of which w has a share of the edges, with the degrees of s; its Sizes are
// those of the whole.
func planSurvey(
	ctx context.Context, w *walker, s *survey, share float64, hops int, opt Options,
) (plan DiagonalPlan, err error) {
	job, err := newDiagonalJob(w, s, hops, opt)
	if err != nil {
		return plan, err
	}
	defer func() { err = joinErrors(err, job.close(true)) }()
	workers := len(w.bufs)
	if hops < 3 {
		plan.MemoryBytes = s.diagonalArrays(hops, workers, opt.Scratch != nil)
	} else {
		price, err := job.price(ctx)
		if err != nil {
			return plan, err
		}
		plan.Steps = price.ofAll(share).steps()
		plan.refuse(hops, opt.MaxPrice)
		for x := range job.before.Data {
			job.before.Data[x] = uint32(float64(job.before.Data[x]) / share)
		}
		plan.MemoryBytes = max(s.diagonalBytes(hops, workers, opt.Scratch != nil),
			s.triangleBytes(hops, workers, opt.Scratch != nil)+job.largestSpan())
		if job.kept {
			plan.MemoryBytes += s.keptBytes()
		}
	}
	if opt.Scratch != nil {
		plan.ScratchBytes = DiagonalBytes(hops, s.nodes)
	}
	return plan, nil
}

// ofAll is the price of a graph of which p is that of a sample, with so large a share of the edges. A pair of edges is
// in the sample with the square of the chance of one, a path of three with its cube.
func (p price) ofAll(share float64) price {
	pairs := share * share
	return price{triangleProbes: p.triangleProbes / pairs, walks: p.walks.ofAll(share)}
}

// largestSpan is the most bytes that triangles hold of lists.
func (job *diagonalJob) largestSpan() (most int64) {
	for _, s := range job.spans() {
		bytes := heldBytes(0)
		for _, entries := range job.before.Data[s.lo:s.hi] {
			bytes += heldBytes(int64(entries))
		}
		most = max(most, bytes)
	}
	return most
}

// planWalks plans the diagonals of a graph that is directed or weighted, of which w has a share of the edges, with the
// degrees of s; its Sizes are those of the whole.
func planWalks(
	ctx context.Context, w *walker, s *survey, share float64, hops int, opt Options,
) (plan DiagonalPlan, err error) {
	job := &walkJob{walker: w, survey: s, hops: hops}
	if err := job.divideBudget(opt); err != nil {
		return plan, err
	}
	if hops >= 3 {
		if err := job.count(ctx); err != nil {
			return plan, err
		}
		plan.Steps = job.price.ofAll(share).steps()
		plan.refuse(hops, opt.MaxPrice)
	}
	arrays, least := s.walkHeldBytes(hops, len(w.bufs), opt.Scratch != nil)
	plan.MemoryBytes = arrays + max(least, min(job.capacity, s.entries)*s.entryBytes())
	if opt.Scratch != nil {
		plan.ScratchBytes = 8 * int64(hops) * int64(s.nodes)
	}
	return plan, nil
}

// ofAll is the price of a graph of which p is that of a sample, with so large a share of the edges.
func (p walkPrice) ofAll(share float64) walkPrice {
	pairs := share * share
	return walkPrice{wedges: p.wedges / pairs, squares: p.squares / pairs, ball: p.ball / (pairs * share)}
}

// An EdgeSample is a uniform sample of the edges of a graph that is not stored yet. Its nodes are the ends of these
// edges.
type EdgeSample struct {
	share   float64
	both    *sampledLists
	out, in *sampledLists // nil unless arcs are walked along their direction
}

// NewEdgeSample makes a sample of edges, whose ends are numbers below nodes. share, 0 < share ≤ 1, is the part of all
// edges that is in the sample. Self loops are left out and parallel edges collapsed. Two fields of form count: Directed
// (an edge is an arc from the first number to the second) and Weighted.
func NewEdgeSample(nodes int, edges [][2]uint32, share float64, form Shape) *EdgeSample {
	s := &EdgeSample{share: share, both: sampleLists(nodes, edges, form.Weighted, 0, 1)}
	if form.Directed {
		s.out, s.in = sampleLists(nodes, edges, form.Weighted, 0), sampleLists(nodes, edges, form.Weighted, 1)
	}
	return s
}

// Edges returns the number of edges in the sample.
func (s *EdgeSample) Edges() int64 { return int64(len(s.both.neighbors)) / 2 }

// Arcs returns the number of arcs of a directed sample, else twice the number of edges.
func (s *EdgeSample) Arcs() int64 {
	if s.out == nil {
		return 2 * s.Edges()
	}
	return int64(len(s.out.neighbors))
}

// Degrees estimates the degrees in the whole graph of the nodes in the sample, descending. They count neighbours of both
// directions.
func (s *EdgeSample) Degrees() []uint32 {
	degrees := make([]uint32, s.both.NumNodes())
	for v := range degrees {
		degrees[v] = uint32(float64(s.both.offsets[v+1]-s.both.offsets[v])/s.share + 0.5)
	}
	slices.SortFunc(degrees, func(a, b uint32) int { return int(int64(b) - int64(a)) })
	return degrees
}

// Linked returns Shape.Linked of the whole graph if the sample has all edges, else zero: it misses nodes of few neighbours.
func (s *EdgeSample) Linked() int {
	if s.share < 1 {
		return 0
	}
	return max(s.both.NumNodes(), 1)
}

// PlanDiagonals estimates, from the sample, the result of the function PlanDiagonals for the whole graph. With a share of
// 1 it is exact.
func (s *EdgeSample) PlanDiagonals(ctx context.Context, whole *Sizes, hops int, opt Options) (DiagonalPlan, error) {
	opt = opt.withDefaults()
	var g Graph = s.both
	if s.out != nil {
		g = sampledArcs{s.out, s.in}
	}
	w, err := newWalker(g, opt.Workers)
	if err != nil {
		return DiagonalPlan{}, err
	}
	part, err := w.survey(ctx, Options{Workers: opt.Workers})
	if err != nil {
		return DiagonalPlan{}, err
	}
	part.Sizes = *whole
	if !w.isSimple() {
		return planWalks(ctx, w, part, s.share, hops, opt)
	}
	return planSurvey(ctx, w, part, s.share, hops, opt)
}

// sampledLists are the lists of an EdgeSample, a Graph whose weights are 1.
type sampledLists struct {
	offsets   []int64
	neighbors []kv.NodeID
	weighted  bool
}

// sampledArcs is the Digraph of an EdgeSample.
type sampledArcs struct {
	*sampledLists
	in *sampledLists
}

// Reverse is that of a Digraph.
func (s sampledArcs) Reverse() Graph { return s.in }

// sampleLists puts the other end of every edge into the lists of the ends from, 0 or 1.
func sampleLists(nodes int, edges [][2]uint32, weighted bool, from ...int) *sampledLists {
	s := &sampledLists{offsets: make([]int64, nodes+1), weighted: weighted}
	for _, e := range edges {
		if e[0] == e[1] {
			continue
		}
		for _, end := range from {
			s.offsets[e[end]+1]++
		}
	}
	for v := range nodes {
		s.offsets[v+1] += s.offsets[v]
	}
	s.neighbors = make([]kv.NodeID, s.offsets[nodes])
	next := slices.Clone(s.offsets[:nodes])
	for _, e := range edges {
		if e[0] == e[1] {
			continue
		}
		for _, end := range from {
			s.neighbors[next[e[end]]] = kv.NodeID(e[1-end])
			next[e[end]]++
		}
	}
	end := int64(0)
	for v := range nodes {
		list := s.neighbors[s.offsets[v]:s.offsets[v+1]]
		slices.Sort(list)
		s.offsets[v] = end
		end += int64(copy(s.neighbors[end:], slices.Compact(list)))
	}
	s.offsets[nodes] = end
	s.neighbors = s.neighbors[:end]
	return s
}

// sampleBlock is the nodes of a range of an EdgeSample.
const sampleBlock = 1 << 12

// NumNodes is that of a Graph.
func (s *sampledLists) NumNodes() int { return len(s.offsets) - 1 }

// Weighted is that of a WeightedGraph.
func (s *sampledLists) Weighted() bool { return s.weighted }

// AdjacencyBlocks is that of a Graph.
func (s *sampledLists) AdjacencyBlocks() (blocks []kv.Range, err error) {
	for first := 0; first < s.NumNodes(); first += sampleBlock {
		blocks = append(blocks, kv.Range{First: kv.NodeID(first), End: kv.NodeID(min(first+sampleBlock, s.NumNodes()))})
	}
	return blocks, nil
}

// ReadAdjacency is that of a Graph.
func (s *sampledLists) ReadAdjacency(r kv.Range, buf *kv.Adjacency) error {
	from, to := s.offsets[r.First], s.offsets[r.End]
	buf.Range, buf.Offsets = r, buf.Offsets[:0]
	for _, at := range s.offsets[r.First : r.End+1] {
		buf.Offsets = append(buf.Offsets, at-from)
	}
	buf.Neighbors = append(buf.Neighbors[:0], s.neighbors[from:to]...)
	if s.weighted {
		buf.Weights = slices.Repeat([]float32{1}, int(to-from))
	}
	return nil
}
