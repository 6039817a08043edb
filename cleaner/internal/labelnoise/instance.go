package labelnoise

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/graphcleaner/graphcleaner/kv"
)

// instanceSpread is the standard deviation of the chances that labels are wrong.
const instanceSpread = 0.1

// spoilByInstance is part-dependent noise (Xia and others, arXiv:2006.07836, as NoisyGL, arXiv:2406.04299, has it for graphs):
// each node has a chance q to go wrong, from a normal distribution around the rate, of deviation 0.1, cut off at 0 and 1;
// and in place of y it gets class j ≠ y in proportion to exp(x·W_y[·][j]), where W_y [d×c] are standard normal numbers of
// its class, and x its features, scaled to the length √d that standardised ones have. So nodes of a class that share
// features tend to be taken for the same other class.
//
// In the paper each node is drawn by itself. Here the number of drawn nodes follows from the rate, with chances close to q: see
// paretoKey.
func spoilByInstance(ctx context.Context, s *spoiling) error {
	keys, single := make([]float64, len(s.Labels)), s.single()
	for _, v := range s.nodes {
		chance := s.noise.rate + float64(instanceSpread*s.random.NormFloat64())
		for !(chance >= 0 && chance <= 1) {
			chance = s.noise.rate + float64(instanceSpread*s.random.NormFloat64())
		}
		if keys[v] = s.paretoKey(chance); single {
			keys[v] = math.Inf(1)
		}
	}
	if err := s.chooseLeast(keys); err != nil {
		return err
	}
	root := math.Sqrt(float64(s.Features.Width()))
	return s.relabelByShares(ctx, nearness{s.Features, func(v kv.NodeID, row []float32, shares []float64) {
		length := lengthOf(row)
		normal := rand.NewPCG(0, 0)
		numbers := rand.New(normal)
		for f, x := range row {
			if x == 0 {
				continue
			}
			// A row of W, which is never whole.
			normal.Seed(s.seed^streamInstance, uint64(s.Labels[v])<<32|uint64(f))
			for j := range shares {
				shares[j] += float64(float64(x) / length * root * numbers.NormFloat64())
			}
		}
		s.softmax(shares, 1)
	}}, keys)
}

// streamInstance tells the numbers of W from others of a seed.
const streamInstance uint64 = 0x696e7374 // "inst"
