package labelnoise

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/confident"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A nearness says how near a node is to each class.
type nearness struct {
	source ops.Source // [n×any]

	// shares fills shares [c] from the node's row: numbers from 0 on, zero for a class that no node has.
	shares func(v kv.NodeID, row []float32, shares []float64)
}

// bySharesOfOthers draws nodes one after the other, in proportion to what the other classes have of their shares, and gives
// each another class in proportion to its share, as BeGIN (arXiv:2506.12468) does for noise of all three kinds.
func (s *spoiling) bySharesOfOthers(ctx context.Context, near nearness) error {
	keys := make([]float64, len(s.Labels))
	err := s.eachShares(ctx, near, func(kv.NodeID) bool { return true }, func(v kv.NodeID, shares []float64) {
		for j, share := range shares {
			if kv.Class(j) != s.Labels[v] {
				keys[v] += share
			}
		}
	})
	if err != nil {
		return err
	}
	// Whoever rings first of clocks with these rates is who is drawn first (Efraimidis and Spirakis, 2006).
	for _, v := range s.nodes {
		keys[v] = (s.random.ExpFloat64() + math.SmallestNonzeroFloat64) / keys[v]
	}
	if err := s.chooseLeast(keys); err != nil {
		return err
	}
	return s.relabelByShares(ctx, near, keys)
}

// chooseLeast leaves in s.nodes the s.count nodes with the least keys [n], in ascending order of keys. The key of a node
// that cannot go wrong is +Inf.
func (s *spoiling) chooseLeast(keys []float64) error {
	slices.SortStableFunc(s.nodes, func(a, b kv.NodeID) int { return cmp.Compare(keys[a], keys[b]) })
	able := 0
	for able < len(s.nodes) && !math.IsInf(keys[s.nodes[able]], 1) {
		able++
	}
	if able < s.count {
		return s.unable(able)
	}
	s.nodes = s.nodes[:s.count]
	return nil
}

// paretoKey draws a key for chooseLeast, of a node that is to go wrong with a chance from 0 to 1. The nodes with the least keys
// are then a sample of a fixed size, in which each node is with about its chance if the chances add up to s.count (Pareto
// sampling: Rosén, 1997).
func (s *spoiling) paretoKey(chance float64) float64 {
	u := float64(s.random.Float64())
	return u / (1 - u) * ((1 - chance) / chance)
}

// unable says that only so many labels can be made wrong.
func (s *spoiling) unable(able int) error {
	const digits = 1e4
	return fmt.Errorf("noise %s:%v: only %d of %d labelled nodes can go wrong like this, want a rate of %v at most: %w",
		s.noise.kind.name, s.noise.rate, able, len(s.nodes), math.Floor(digits*float64(able)/float64(len(s.nodes)))/digits, ErrOptions)
}

// relabelByShares draws another class for the nodes that are left, in proportion to its share. Their order is that of the
// draws; draws [n] is room for them.
func (s *spoiling) relabelByShares(ctx context.Context, near nearness, draws []float64) error {
	for v := range draws {
		draws[v] = -1
	}
	for _, v := range s.nodes {
		draws[v] = s.random.Float64()
	}
	return s.eachShares(ctx, near, func(v kv.NodeID) bool { return draws[v] >= 0 }, func(v kv.NodeID, shares []float64) {
		shares[s.Labels[v]] = 0
		var sum float64
		for _, share := range shares {
			sum += share
		}
		if sum == 0 { // all others have underflowed
			for k := range shares {
				if kv.Class(k) != s.Labels[v] {
					shares[k] = 1
					sum++
				}
			}
		}
		s.noisy[v] = confident.Draw(shares, draws[v]*sum)
	})
}

// eachShares calls use for labelled nodes that are wanted, on all workers; shares is borrowed.
func (s *spoiling) eachShares(
	ctx context.Context, near nearness, wanted func(v kv.NodeID) bool, use func(v kv.NodeID, shares []float64),
) error {
	return rowstore.Each(ctx, near.source, len(s.Labels), s.opt.Workers, func(rows kv.Range, values []float32) error {
		shares, width := make([]float64, s.Classes), near.source.Width()
		for v := rows.First; v < rows.End; v++ {
			if s.Labels[v] != kv.NoClass && wanted(v) {
				clear(shares)
				near.shares(v, values[int(v-rows.First)*width:][:width], shares)
				use(v, shares)
			}
		}
		return nil
	})
}

// noiseTemperature divides what softmax takes for logits, in BeGIN.
const noiseTemperature = 0.01

// softmax turns logits [c] into shares of the classes that nodes have.
func (s *spoiling) softmax(logits []float64, temperature float64) {
	most := math.Inf(-1)
	for j, logit := range logits {
		if s.present[j] {
			most = max(most, logit)
		}
	}
	var sum float64
	for j, logit := range logits {
		if logits[j] = 0; s.present[j] {
			logits[j] = elementary.Exp((logit - most) / temperature)
		}
		sum += logits[j]
	}
	for j := range logits {
		logits[j] /= sum
	}
}

// single says whether all nodes have one class, so that no label can become another.
func (s *spoiling) single() bool {
	classes := 0
	for _, present := range s.present {
		if present {
			classes++
		}
	}
	return classes < 2
}
