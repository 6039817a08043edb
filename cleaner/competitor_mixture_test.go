package cleaner

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/graphcleaner/graphcleaner/internal/kvtest"
	"github.com/graphcleaner/graphcleaner/kv"
)

// plainGaussians are the two normal distributions, with their weights, of scaled and sorted values.
func plainGaussians(x []float64) (of [2]distuv.Normal, weight [2]float64) {
	best := math.Inf(1)
	var shares [2][]float64
	for cut := 1; cut < len(x); cut++ {
		squares := 0.0
		for _, part := range [][]float64{x[:cut], x[cut:]} {
			mean := stat.Mean(part, nil)
			for _, x := range part {
				squares += (x - mean) * (x - mean)
			}
		}
		if squares < best-1e-12 {
			best, shares = squares, [2][]float64{make([]float64, len(x)), make([]float64, len(x))}
			for i := range x {
				if i < cut {
					shares[0][i] = 1
				} else {
					shares[1][i] = 1
				}
			}
		}
	}
	least := 1e-6 * stat.PopVariance(x, nil)
	before := math.Inf(-1)
	for range 101 {
		for k := range 2 {
			of[k].Mu = stat.Mean(x, shares[k])
			of[k].Sigma = math.Sqrt(stat.MomentAbout(2, x, of[k].Mu, shares[k]) + least)
			weight[k] = 0
			for _, r := range shares[k] {
				weight[k] += r / float64(len(x))
			}
		}
		likelihood := 0.0
		for i, x := range x {
			low, high := weight[0]*of[0].Prob(x), weight[1]*of[1].Prob(x)
			shares[0][i], shares[1][i] = low/(low+high), high/(low+high)
			likelihood += math.Log(low+high) / float64(len(shares[0]))
		}
		if likelihood-before < 1e-3 {
			break
		}
		before = likelihood
	}
	return of, weight
}

// mixedTrial has values of two kinds, the larger in a share of the nodes, and a node without a label.
func mixedTrial(r *rand.Rand, n int, share float64) (p trial, values []float64, large []bool) {
	p = voteTrial(make(kvtest.MemoryGraph, n), make([]kv.Class, n), 2)
	p.labels[n/2] = kv.NoClass
	values, large = make([]float64, n), make([]bool, n)
	for v := range n {
		if large[v] = r.Float64() < share; large[v] {
			values[v] = 3 + r.NormFloat64()
		} else {
			values[v] = r.NormFloat64() / 2
		}
	}
	return p, values, large
}

func TestMixtureIsItsDefinition(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := 20 + r.IntN(120)
		p, values, large := mixedTrial(r, n, 0.1+0.3*r.Float64())
		var x []float64
		for v, value := range values {
			if p.labels[v] != kv.NoClass {
				x = append(x, value)
			}
		}
		slices.Sort(x)
		low, span := x[0], x[len(x)-1]-x[0]
		for i := range x {
			x[i] = (x[i] - low) / span
		}
		of, weight := plainGaussians(x)
		result, err := p.byMixture(context.Background(), values)
		if err != nil {
			t.Fatal(err)
		}
		hits := 0
		for v := range n {
			if p.labels[v] == kv.NoClass {
				if result.flagged[v] || result.scores[v] != 0 {
					t.Errorf("seed %d, node %d has no label: got %v, flagged %v", seed, v, result.scores[v], result.flagged[v])
				}
				continue
			}
			x := min(max((values[v]-low)/span, of[0].Mu), of[1].Mu)
			high := weight[1] * of[1].Prob(x)
			want := high / (high + weight[0]*of[0].Prob(x))
			if math.Abs(result.scores[v]-want) > 1e-6 {
				t.Errorf("seed %d, node %d of %.4f: got %v, want %v", seed, v, values[v], result.scores[v], want)
			}
			if result.flagged[v] != (want > 0.5) && math.Abs(want-0.5) > 1e-6 {
				t.Errorf("seed %d, node %d of posterior %v: got flagged %v", seed, v, want, result.flagged[v])
			}
			if result.flagged[v] == large[v] {
				hits++
			}
		}
		if hits < n*85/100 {
			t.Errorf("seed %d: %d of %d nodes are judged as they were made, want 85 in 100", seed, hits, n)
		}
		order := make([]int, 0, n)
		for v, y := range p.labels {
			if y != kv.NoClass {
				order = append(order, v)
			}
		}
		sort.Slice(order, func(a, b int) bool { return values[order[a]] < values[order[b]] })
		for i := 1; i < len(order); i++ {
			if result.scores[order[i]] < result.scores[order[i-1]] {
				t.Errorf("seed %d: the score falls from value %v to %v", seed, values[order[i-1]], values[order[i]])
			}
		}
	}
}

func TestMixtureOfFewValues(t *testing.T) {
	for _, values := range [][]float64{nil, {1}, {2, 2, 2, 2}, {0, 1}, {0, 0, 0, 5}, {-1, -1, 7, 7}} {
		p := voteTrial(make(kvtest.MemoryGraph, len(values)), make([]kv.Class, len(values)), 2)
		result, err := p.byMixture(context.Background(), values)
		if err != nil {
			t.Fatal(err)
		}
		for v, value := range values {
			want := value > slices.Min(values)
			if s := result.scores[v]; !(s >= 0 && s <= 1) || result.flagged[v] != want {
				t.Errorf("%v: value %v has score %v, flagged %v, want %v", values, value, s, result.flagged[v], want)
			}
		}
	}
}
