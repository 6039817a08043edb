package cleaner

import (
	"cmp"
	"slices"
	"sort"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// An evidence says which class a node is likely to be of. Classes with the same prediction are told apart by the votes,
// the weights of the neighbours with each given label, and where these are the same by ranks, that is by how many nodes
// are given the class, and at last by its name. No choice depends on the number of a class.
type evidence struct {
	predictions []float32 // [c]
	ballot
	ranks []int32 // [c], see rankClasses
}

// byPrediction orders classes, the likeliest first, by prediction, votes and rank.
func (e evidence) byPrediction(a, b kv.Class) int {
	return cmp.Or(
		cmp.Compare(e.predictions[b], e.predictions[a]), cmp.Compare(e.votes[b], e.votes[a]), cmp.Compare(e.ranks[a], e.ranks[b]))
}

// byVotes orders classes, the likeliest first, by votes, prediction and rank.
func (e evidence) byVotes(a, b kv.Class) int {
	return cmp.Or(cmp.Compare(e.votes[b], e.votes[a]), e.byPrediction(a, b))
}

// chooseRivals writes the classes that a label is tested against, as many as rivals has: those with the largest
// predictions but for the label, and last, of all others, the one with the most votes.
func (e evidence) chooseRivals(label kv.Class, rivals []kv.Class) {
	last := len(rivals) - 1
	found := 0
	for i := range e.predictions {
		k := kv.Class(i)
		if k == label {
			continue
		}
		at := found
		for at > 0 && e.byPrediction(k, rivals[at-1]) < 0 {
			at--
		}
		if at >= last {
			continue
		}
		found = min(found+1, last)
		copy(rivals[at+1:found], rivals[at:found-1])
		rivals[at] = k
	}
	for i := range e.predictions {
		k := kv.Class(i)
		if k == label || slices.Contains(rivals[:found], k) {
			continue
		}
		if found <= last {
			found, rivals[last] = last+1, k
		} else if e.byVotes(k, rivals[last]) < 0 {
			rivals[last] = k
		}
	}
}

// countRivals is how many a label of so many classes has.
func countRivals(classes int) int { return max(min(modelClasses, classes-1), 0) }

// suggest is the class with the largest prediction. Where several have it, it is the one with the most votes, or of
// those the label, or the first by rank.
func (e evidence) suggest(label kv.Class) kv.Class {
	best := kv.Class(0)
	for i := range e.predictions[1:] {
		if k := kv.Class(i + 1); e.byPrediction(k, best) < 0 {
			best = k
		}
	}
	if label != kv.NoClass && e.predictions[label] == e.predictions[best] && e.votes[label] == e.votes[best] {
		return label
	}
	return best
}

// rankClasses ranks classes by how many nodes are given them, most first, then by name: the rank of every class.
func rankClasses(counts []float64, names []string) []int32 {
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(names[a], names[b]))
	})
	ranks := make([]int32, len(order))
	for rank, k := range order {
		ranks[k] = int32(rank)
	}
	return ranks
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
	count  ballot       // votes are zero but for voted
	voted  []kv.Class
}

func newPoll(of *problem) (*poll, error) {
	blocks, err := of.graph.AdjacencyBlocks()
	return &poll{graph: of.graph, blocks: blocks, labels: of.labels, count: ballot{votes: make([]float64, of.classes)}}, err
}

// of returns the votes around a node, borrowed until the next call.
func (p *poll) of(v kv.NodeID) (ballot, error) {
	for _, k := range p.voted {
		p.count.votes[k] = 0
	}
	p.voted, p.count.voters = p.voted[:0], 0
	if v < p.lists.First || v >= p.lists.End {
		block := p.blocks[sort.Search(len(p.blocks), func(i int) bool { return p.blocks[i].End > v })]
		if err := p.graph.ReadAdjacency(block, &p.lists); err != nil {
			return ballot{}, err
		}
	}
	for at := p.lists.Offsets[v-p.lists.First]; at < p.lists.Offsets[v-p.lists.First+1]; at++ {
		y := p.labels[p.lists.Neighbors[at]]
		if y == kv.NoClass {
			continue
		}
		weight := 1.0
		if p.lists.Weights != nil {
			weight = float64(p.lists.Weights[at])
		}
		if p.count.votes[y] == 0 {
			p.voted = append(p.voted, y)
		}
		p.count.votes[y] += weight
		p.count.voters++
	}
	return p.count, nil
}

// rankClasses ranks the classes of the problem, those of the same number of nodes by number where it has no names.
func (p *problem) rankClasses() []int32 {
	names := p.names
	if names == nil {
		names = make([]string, p.classes)
	}
	return rankClasses(countLabels(p.labels, p.classes), names)
}
