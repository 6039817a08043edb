package cleaner

import (
	"context"
	"sort"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// mostArcClasses is how many classes there are at most where the arcs between them are counted.
const mostArcClasses = 256

// countArcs counts the arcs between the given labels, unless that was done before.
func (p *problem) countArcs(ctx context.Context, workers int) (err error) {
	if p.arcs == nil {
		p.arcs, err = countArcs(ctx, p.graph, p.labels, p.classes, workers)
	}
	return err
}

// disagreement is countArcs; nil unless neighbours disagree.
func disagreement(ctx context.Context, graph ops.Graph, labels []kv.Class, c, workers int) ([]int64, error) {
	arcs, err := countArcs(ctx, graph, labels, c, workers)
	if err != nil || !disagree(arcs, c) {
		return nil, err
	}
	return arcs, nil
}

// countArcs counts the arcs between given labels [c×c], a line the class of the node; nil if there are more than
// mostArcClasses.
func countArcs(ctx context.Context, graph ops.Graph, labels []kv.Class, c, workers int) ([]int64, error) {
	if c > mostArcClasses {
		return nil, nil
	}
	blocks, err := graph.AdjacencyBlocks()
	if err != nil {
		return nil, err
	}
	type counter struct {
		lists kv.Adjacency
		arcs  []int64
	}
	counters := make([]counter, parallel.Workers(workers))
	err = parallel.Do(ctx, len(counters), len(blocks), func(_ context.Context, worker, b int) error {
		count := &counters[worker]
		if count.arcs == nil {
			count.arcs = make([]int64, c*c)
		}
		if err := graph.ReadAdjacency(blocks[b], &count.lists); err != nil {
			return err
		}
		for v := blocks[b].First; v < blocks[b].End; v++ {
			k := labels[v]
			if k == kv.NoClass {
				continue
			}
			i := v - count.lists.First
			for _, u := range count.lists.Neighbors[count.lists.Offsets[i]:count.lists.Offsets[i+1]] {
				if j := labels[u]; j != kv.NoClass {
					count.arcs[int(k)*c+int(j)]++
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := make([]int64, c*c)
	for i := range counters {
		for at, arcs := range counters[i].arcs {
			all[at] += arcs
		}
	}
	return all, nil
}

// disagree says whether neighbours do, from arcs [c×c]: whether the adjusted homophily is below LowHomophily, and not
// NaN. It is not known without arcs.
func disagree(arcs []int64, c int) bool {
	if arcs == nil {
		return false
	}
	s := LabelStatistics{Classes: make([]ClassStatistics, c)}
	s.setArcs(arcs)
	return s.AdjustedHomophily < LowHomophily
}

// setArcs computes homophily from arcs [c×c].
func (s *LabelStatistics) setArcs(arcs []int64) {
	c := len(s.Classes)
	agreeing, neighbors := make([]int64, c), make([]int64, c)
	for i, count := range arcs {
		if neighbors[i/c] += count; i/c == i%c {
			agreeing[i/c] = count
		}
	}
	s.setHomophily(agreeing, neighbors)
}

// homophily measures that of the given labels. A direction that the graph is walked along does not count.
func (p *problem) homophily(ctx context.Context, tx *kv.Tx, workers int) (*LabelStatistics, error) {
	if _, simple := p.graph.(*ops.Series); !simple || p.classes > mostArcClasses {
		return statisticsOf(ctx, tx, p.labels, (*LabelStatistics).measureHomophily)
	}
	if err := p.countArcs(ctx, workers); err != nil {
		return nil, err
	}
	return statisticsOf(ctx, tx, p.labels, func(s *LabelStatistics, _ context.Context, _ *kv.Tx, _ []kv.Class) error {
		s.setArcs(p.arcs)
		return nil
	})
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
