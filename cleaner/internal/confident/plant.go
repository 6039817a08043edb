package confident

import (
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Plant plants wrong labels: a share rate of the labels, except NoClass, chosen uniformly, get another one drawn from
// row labels[r] of flip (see Flips). labels is left as it is. The same labels, flip, rate and seed plant the same. A
// chosen row whose class has no other to become keeps its label; a row of NoClass is never chosen.
func Plant(labels []kv.Class, flip [][]float64, rate float64, seed uint64) []kv.Class {
	noisy := slices.Clone(labels)
	var candidates []int
	for r, y := range labels {
		if y != kv.NoClass {
			candidates = append(candidates, r)
		}
	}
	random := rand.New(rand.NewPCG(seed, streamPlant))
	random.Shuffle(len(candidates), func(a, b int) { candidates[a], candidates[b] = candidates[b], candidates[a] })
	for _, r := range candidates[:int(rate*float64(len(candidates)))] {
		if y := Draw(flip[labels[r]], random.Float64()); y != kv.NoClass {
			noisy[r] = y
		}
	}
	return noisy
}

// streamPlant is the second word of the PCG seed: the parts of a run that share a seed draw independent numbers.
const streamPlant uint64 = 0x73796e74 // "synt"

// Draw returns the class at u, uniform on [0,1), of the distribution weights, whose sum is 1 up to rounding; NoClass
// where it has no mass.
func Draw(weights []float64, u float64) kv.Class {
	class := kv.NoClass
	var below float64
	for i, w := range weights {
		if w == 0 {
			continue
		}
		class = kv.Class(i) // the last class with mass takes what rounding leaves of [0,1)
		if below += w; u < below {
			break
		}
	}
	return class
}
