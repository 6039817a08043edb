package cleaner

import (
	"context"
	"sort"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// NeighborCounts count labelled neighbours of labelled nodes. They can be kept as JSON.
type NeighborCounts struct {
	Agreeing []int64 // neighbours with the label of the node, by it [c]
	All      []int64 // labelled neighbours by the label of the node [c]
}

// NewNeighborCounts are those of no nodes.
func NewNeighborCounts(classes int) *NeighborCounts {
	return &NeighborCounts{Agreeing: make([]int64, classes), All: make([]int64, classes)}
}

// Add counts the neighbours of a node: neighbors [c] are their numbers by label, whatever their weights. A node without
// a label adds nothing.
func (n *NeighborCounts) Add(label kv.Class, neighbors []float64) {
	if label == kv.NoClass {
		return
	}
	for _, count := range neighbors {
		n.All[label] += int64(count)
	}
	n.Agreeing[label] += int64(neighbors[label])
}

// homophily are statistics of the labels, of which nothing else is known.
func (n *NeighborCounts) homophily() *LabelStatistics {
	s := &LabelStatistics{Classes: make([]ClassStatistics, len(n.All))}
	s.setHomophily(n.Agreeing, n.All)
	return s
}

// mostHeardClasses is how many classes there are at most where neighbours can disagree.
const mostHeardClasses = 256

// disagree says whether neighbours do: whether the adjusted homophily is below LowHomophily, and not NaN.
func (n *NeighborCounts) disagree() bool {
	return len(n.All) <= mostHeardClasses && n.homophily().AdjustedHomophily < LowHomophily
}

// countNeighbors counts the neighbours in a graph.
func countNeighbors(ctx context.Context, graph ops.Graph, labels []kv.Class, classes, workers int) (*NeighborCounts, error) {
	blocks, err := graph.AdjacencyBlocks()
	if err != nil {
		return nil, err
	}
	type counter struct {
		lists kv.Adjacency
		*NeighborCounts
	}
	counters := make([]counter, parallel.Workers(workers))
	for i := range counters {
		counters[i].NeighborCounts = NewNeighborCounts(classes)
	}
	err = parallel.Do(ctx, len(counters), len(blocks), func(_ context.Context, worker, b int) error {
		count := &counters[worker]
		if err := graph.ReadAdjacency(blocks[b], &count.lists); err != nil {
			return err
		}
		for v := blocks[b].First; v < blocks[b].End; v++ {
			y := labels[v]
			if y == kv.NoClass {
				continue
			}
			i := v - count.lists.First
			for _, u := range count.lists.Neighbors[count.lists.Offsets[i]:count.lists.Offsets[i+1]] {
				if labels[u] != kv.NoClass {
					count.All[y]++
				}
				if labels[u] == y {
					count.Agreeing[y]++
				}
			}
		}
		return nil
	})
	all := NewNeighborCounts(classes)
	for _, counter := range counters {
		for k := range classes {
			all.All[k] += counter.All[k]
			all.Agreeing[k] += counter.Agreeing[k]
		}
	}
	return all, err
}

// countNeighbors counts the neighbours in the graph, unless that was done before.
func (p *problem) countNeighbors(ctx context.Context, workers int) (err error) {
	if p.neighbors == nil {
		p.neighbors, err = countNeighbors(ctx, p.graph, p.labels, p.classes, workers)
	}
	return err
}

// homophily measures that of the given labels. A direction that the graph is walked along does not count.
func (p *problem) homophily(ctx context.Context, tx *kv.Tx, workers int) (*LabelStatistics, error) {
	if _, simple := p.graph.(*ops.Series); !simple {
		counts, err := countNeighbors(ctx, tx, p.labels, p.classes, workers)
		if err != nil {
			return nil, err
		}
		return counts.homophily(), nil
	}
	if err := p.countNeighbors(ctx, workers); err != nil {
		return nil, err
	}
	return p.neighbors.homophily(), nil
}

// countLabels counts the nodes by given label [classes].
func countLabels(labels []kv.Class, classes int) []float64 {
	counts := make([]float64, classes)
	for _, y := range labels {
		if y != kv.NoClass {
			counts[y]++
		}
	}
	return counts
}

// A poll counts the votes of nodes by given label, fastest where they ascend. One goroutine.
type poll struct {
	graph  ops.Graph
	blocks []kv.Range
	labels []kv.Class
	lists  kv.Adjacency // of a block
	votes  []float64    // zero but for voters
	voters []kv.Class
}

func newPoll(of *problem) (*poll, error) {
	blocks, err := of.graph.AdjacencyBlocks()
	return &poll{graph: of.graph, blocks: blocks, labels: of.labels, votes: make([]float64, of.classes)}, err
}

// of returns the votes around a node, borrowed until the next call.
func (p *poll) of(v kv.NodeID) ([]float64, error) {
	for _, k := range p.voters {
		p.votes[k] = 0
	}
	p.voters = p.voters[:0]
	if v < p.lists.First || v >= p.lists.End {
		block := p.blocks[sort.Search(len(p.blocks), func(i int) bool { return p.blocks[i].End > v })]
		if err := p.graph.ReadAdjacency(block, &p.lists); err != nil {
			return nil, err
		}
	}
	votes, labels, voters := p.votes, p.labels, p.voters
	first, end := p.lists.Offsets[v-p.lists.First], p.lists.Offsets[v-p.lists.First+1]
	for i, u := range p.lists.Neighbors[first:end] {
		y := labels[u]
		if y == kv.NoClass {
			continue
		}
		weight := 1.0
		if p.lists.Weights != nil {
			weight = float64(p.lists.Weights[int(first)+i])
		}
		if votes[y] == 0 {
			voters = append(voters, y)
		}
		votes[y] += weight
	}
	p.voters = voters
	return votes, nil
}

// rankClasses ranks the classes of the problem, those of the same number of nodes by number where it has no names.
func (p *problem) rankClasses() []int32 {
	names := p.names
	if names == nil {
		names = make([]string, p.classes)
	}
	if p.kept != nil {
		return labelmodel.RankClasses(p.kept.Counts, names)
	}
	return labelmodel.RankClasses(countLabels(p.labels, p.classes), names)
}
