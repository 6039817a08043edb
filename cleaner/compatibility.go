package cleaner

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A compatibility says what the given label of a neighbour speaks for, whether neighbours agree or not. With N[k][j] the
// arcs from nodes given k to nodes given j, N[k] and N[·][j] their sums, N that of all and π[j] = N[·][j]/N, entry j of line
// k is
//
//	log( (N[k][j] + a·π[j]) / ((N[k] + a)·π[j]) )   a = compatibleArcs + compatibleShare·N[k]
//
// the log-likelihood ratio of a vote for j under class k and under any class, which leans to zero where arcs are few. It is
// that of naive Bayes, with given labels in place of true ones.
type compatibility struct {
	classes int
	logs    []float32 // [c×c]
}

const (
	compatibleArcs  = 10
	compatibleShare = 0.05
	mostCompatible  = 256 // classes: of more there is no compatibility
	mostVoters      = 20  // votes of a node count as no more than so many: its neighbours share what they know
)

// compatibility is nil unless neighbours disagree. Where they agree L1 … LK say so better: votes that depend on each other
// make them too sure of nodes between two classes, whose wrong labels are then found less well (amazon_computers: F1 .91
// without, .90 with votes).
func (p *problem) compatibility(ctx context.Context, workers int) (*compatibility, error) {
	arcs, err := disagreement(ctx, p.graph, p.labels, p.classes, workers)
	if err != nil || arcs == nil {
		return nil, err
	}
	return newCompatibility(arcs, p.classes), nil
}

// disagreement counts the arcs between given labels [c×c], a line the class of the node; nil where there are more classes
// than mostCompatible, and unless the adjusted homophily is below LowHomophily.
func disagreement(ctx context.Context, graph ops.Graph, labels []kv.Class, c, workers int) ([]int64, error) {
	if c > mostCompatible {
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
	counters := make([]counter, ops.Workers(workers))
	err = ops.Parallel(ctx, len(counters), len(blocks), func(_ context.Context, worker, b int) error {
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
	if !(adjustedHomophily(all, c) < LowHomophily) { // also where it is NaN
		return nil, nil
	}
	return all, nil
}

// adjustedHomophily is that of LabelStatistics, from arcs [c×c].
func adjustedHomophily(arcs []int64, c int) float64 {
	agreeing, neighbors := make([]int64, c), make([]int64, c)
	for i, count := range arcs {
		if neighbors[i/c] += count; i/c == i%c {
			agreeing[i/c] = count
		}
	}
	s := LabelStatistics{Classes: make([]ClassStatistics, c)}
	s.setHomophily(agreeing, neighbors)
	return s.AdjustedHomophily
}

// newCompatibility takes arcs [c×c], a line the class of the node. A class that nobody votes for has zeros in its column.
func newCompatibility(arcs []int64, c int) *compatibility {
	from, to, all := make([]float64, c), make([]float64, c), 0.0
	for i, count := range arcs {
		from[i/c] += float64(count)
		to[i%c] += float64(count)
		all += float64(count)
	}
	m := &compatibility{classes: c, logs: make([]float32, c*c)}
	for i, count := range arcs {
		k, j := i/c, i%c
		if to[j] == 0 {
			continue
		}
		share, prior := to[j]/all, compatibleArcs+float64(compatibleShare*from[k])
		m.logs[i] = float32(elementary.Log((float64(count) + float64(prior*share)) / float64((from[k]+prior)*share)))
	}
	return m
}

// A ballot is what the neighbours of a node are given.
type ballot struct {
	votes  []float64 // [c]: the weights of the neighbours with each given label
	voters int       // neighbours with a label
}

// evidence is what a ballot says of a class: the mean entry of its votes, times how many of them count.
func (m *compatibility) evidence(b ballot, k kv.Class) float32 {
	var sum, all float64
	line := m.logs[int(k)*m.classes:][:m.classes]
	for j, vote := range b.votes {
		if vote != 0 {
			sum += float64(vote * float64(line[j]))
			all += vote
		}
	}
	if all == 0 {
		return 0
	}
	return float32(sum / all * mostVoters * float64(b.voters) / float64(b.voters+mostVoters))
}

// A sampleVotes is a compatibility, and what it says of the nodes of a sample.
type sampleVotes struct {
	*compatibility
	evidence *scratch.Array[float32] // [rows×classes]; nil where there is no compatibility
}

// votesFor computes them. The caller closes them.
func (p *problem) votesFor(ctx context.Context, sample *sample, workers int) (*sampleVotes, error) {
	compatible, err := p.compatibility(ctx, workers)
	if err != nil || compatible == nil {
		return &sampleVotes{}, err
	}
	around, err := newPoll(p)
	if err != nil {
		return nil, err
	}
	evidence, err := scratch.New[float32](p.place.temporary(), "votes", len(sample.given)*p.classes)
	if err != nil {
		return nil, err
	}
	sample.nodes.each(kv.Range{End: kv.NodeID(len(p.labels))}, func(rank int, v kv.NodeID) {
		if err != nil {
			return
		}
		var of ballot
		of, err = around.of(v)
		for k := range p.classes {
			evidence.Data[rank*p.classes+k] = compatible.evidence(of, kv.Class(k))
		}
		if rank%lookEvery == 0 {
			err = errors.Join(err, ctx.Err())
		}
	})
	if err != nil {
		return nil, errors.Join(err, evidence.Close())
	}
	return &sampleVotes{compatible, evidence}, nil
}

// rows are the evidence [rows×classes]; nil where there is none.
func (s *sampleVotes) rows() []float32 {
	if s.evidence == nil {
		return nil
	}
	return s.evidence.Data
}

// keepIn puts the compatibility into a model.
func (s *sampleVotes) keepIn(m *LabelModel) {
	if s.compatibility != nil {
		m.Compatibility = s.logs
	}
}

// Close gives the array back.
func (s *sampleVotes) Close() error {
	if s.evidence == nil {
		return nil
	}
	return s.evidence.Close()
}
