package labelmodel

import (
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A Compatibility says what the given label of a neighbour speaks for, whether neighbours agree or not. With N[k][j] the
// arcs from nodes given k to nodes given j, N[k] and N[·][j] their sums, N that of all and π[j] = N[·][j]/N, entry j of line
// k is
//
//	log( (N[k][j] + a·π[j]) / ((N[k] + a)·π[j]) )   a = compatibleArcs + compatibleShare·N[k]
//
// the log-likelihood ratio of a vote for j under class k and under any class, which leans to zero where arcs are few. It is
// that of naive Bayes, with given labels in place of true ones.
type Compatibility struct {
	classes int
	Logs    []float32 // [c×c]
}

// MostCompatible is how many classes there are at most where votes count.
const MostCompatible = 256

const (
	compatibleArcs  = 10
	compatibleShare = 0.05
	mostVoters      = 20 // votes of a node count as no more than so many: its neighbours share what they know
)

// NewCompatibility takes arcs [c×c], a line the class of the node. A class that nobody votes for has zeros in its column.
func NewCompatibility(arcs []int64, c int) *Compatibility {
	from, to, all := make([]float64, c), make([]float64, c), 0.0
	for i, count := range arcs {
		from[i/c] += float64(count)
		to[i%c] += float64(count)
		all += float64(count)
	}
	m := &Compatibility{classes: c, Logs: make([]float32, c*c)}
	for i, count := range arcs {
		k, j := i/c, i%c
		if to[j] == 0 {
			continue
		}
		share, prior := to[j]/all, compatibleArcs+float64(compatibleShare*from[k])
		m.Logs[i] = float32(elementary.Log((float64(count) + float64(prior*share)) / float64((from[k]+prior)*share)))
	}
	return m
}

// A Ballot is what the neighbours of a node are given.
type Ballot struct {
	Votes  []float64 // [c]: the weights of the neighbours with each given label
	Voters int       // neighbours with a label
}

// Evidence is what a ballot says of a class: the mean entry of its votes, times how many of them count.
func (m *Compatibility) Evidence(b Ballot, k kv.Class) float32 {
	var sum, all float64
	line := m.Logs[int(k)*m.classes:][:m.classes]
	for j, vote := range b.Votes {
		if vote != 0 {
			sum += float64(vote * float64(line[j]))
			all += vote
		}
	}
	if all == 0 {
		return 0
	}
	return float32(sum / all * mostVoters * float64(b.Voters) / float64(b.Voters+mostVoters))
}
