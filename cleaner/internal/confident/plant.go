package confident

import (
	"math/rand/v2"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Plant plants wrong labels: a share rate of the rows of given that have a label, chosen uniformly, get another
// one drawn from row given[r] of flip (see Flips). It returns the labels to test and which of them are
// planted; given is left as it is. The same given, flip, rate and seed plant the same. A chosen row whose class has no
// other to become keeps its label and is not planted; a row given NoClass is never chosen.
func Plant(given []kv.Class, flip [][]float64, rate float64, seed uint64) (tested []kv.Class, planted []bool) {
	tested, planted = make([]kv.Class, len(given)), make([]bool, len(given))
	copy(tested, given)
	var candidates []int
	for r, y := range given {
		if y != kv.NoClass {
			candidates = append(candidates, r)
		}
	}
	random := rand.New(rand.NewPCG(seed, streamPlant))
	random.Shuffle(len(candidates), func(a, b int) { candidates[a], candidates[b] = candidates[b], candidates[a] })
	for _, r := range candidates[:int(rate*float64(len(candidates)))] {
		if y := Draw(flip[given[r]], random.Float64()); y != kv.NoClass {
			tested[r], planted[r] = y, true
		}
	}
	return tested, planted
}

// streamPlant is the second word of the PCG seed: the parts of a run that share a seed draw independent numbers.
const streamPlant uint64 = 0x73796e74 // "synt"

// Draw returns the class at u, uniform on [0,1), of the distribution weights, whose sum is 1 but for rounding; NoClass
// where it has no mass.
func Draw(weights []float64, u float64) kv.Class {
	drawn := kv.NoClass
	var below float64
	for i, w := range weights {
		if w == 0 {
			continue
		}
		drawn = kv.Class(i) // the last class with mass takes what rounding leaves of [0,1)
		if below += w; u < below {
			break
		}
	}
	return drawn
}
