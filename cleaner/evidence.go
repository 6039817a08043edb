package cleaner

import (
	"sort"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

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
