package cleaner

import (
	"context"

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
