package evaluate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/kv"
)

// plainMixture fits two beta distributions to values between 0 and 1 by ten steps of expectation maximization, and
// returns the posterior of the one with the larger mean.
func plainMixture(x []float64) func(float64) float64 {
	a, b, weight := [2]float64{1, 2}, [2]float64{2, 1}, [2]float64{0.5, 0.5}
	density := func(k int, x float64) float64 { return weight[k] * distuv.Beta{Alpha: a[k], Beta: b[k]}.Prob(x) }
	for range 10 {
		var shares [2][]float64
		for _, x := range x {
			low, high := density(0, x), density(1, x)
			shares[0] = append(shares[0], low/(low+high))
			shares[1] = append(shares[1], high/(low+high))
		}
		for k := range 2 {
			var sum, mean, variance float64
			for i, r := range shares[k] {
				sum += r
				mean += r * x[i]
			}
			mean /= sum
			for i, r := range shares[k] {
				variance += r * (x[i] - mean) * (x[i] - mean) / sum
			}
			a[k] = mean * (mean*(1-mean)/variance - 1)
			b[k] = a[k] * (1 - mean) / mean
			weight[k] = sum / float64(len(x))
		}
	}
	high := 1
	if a[0]/(a[0]+b[0]) > a[1]/(a[1]+b[1]) {
		high = 0
	}
	return func(x float64) float64 { return density(high, x) / (density(0, x) + density(1, x)) }
}

// TestDynamicBootstrapIsItsDefinition has losses of two kinds: those of labels that the classifier believes, and
// others.
func TestDynamicBootstrapIsItsDefinition(t *testing.T) {
	const c = 4
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := 100 + r.IntN(200)
		labels := make([]kv.Class, n)
		predictions := make([]float32, n*c)
		wrong := make([]bool, n)
		var losses []float64
		for v := range n {
			row := predictions[v*c : (v+1)*c]
			for j := range row {
				row[j] = float32(r.NormFloat64())
			}
			y := kv.Class(r.IntN(c))
			row[y] += 4
			nn.Softmaxes(row, len(row))
			if wrong[v] = r.IntN(4) == 0; wrong[v] {
				y = (y + 1) % c
			}
			labels[v] = y
			losses = append(losses, -math.Log(float64(row[y])))
		}

		sorted := slices.Sorted(slices.Values(losses))
		low, high := percentile(sorted, 0.05), percentile(sorted, 0.95)
		scaled := func(loss float64) float64 { return min(max((loss-low)/(high-low), 1e-3), 1-1e-3) }
		var x []float64
		for _, loss := range losses {
			if loss >= low && loss <= high {
				x = append(x, scaled(loss))
			}
		}
		posterior := plainMixture(x)
		most, at := 0.0, 0.0
		for i := range 100 {
			x := 1e-3 + (1-2e-3)*float64(i)/99
			if q := posterior(x); q > most+1e-13 {
				most, at = q, x
			}
		}
		result := judge(t, trialOf(t, labels, predictions), "dyb")
		hits := 0
		for v, loss := range losses {
			want := posterior(min(scaled(loss), at))
			if got := result.Scores[v]; math.Abs(got-want) > 1e-6 {
				t.Errorf("seed %d, node %d with loss %.4f: got %v, want %v", seed, v, loss, got, want)
			}
			if result.Flagged[v] != (want > 0.5) && math.Abs(want-0.5) > 1e-6 {
				t.Errorf("seed %d, node %d with posterior %v: got flagged %v", seed, v, want, result.Flagged[v])
			}
			if result.Flagged[v] == wrong[v] {
				hits++
			}
			for u, other := range losses {
				if other > loss && result.Scores[u] < result.Scores[v] && scaled(loss) > at {
					t.Errorf("seed %d: node %d has a larger loss than node %d and a lower score", seed, u, v)
				}
			}
		}
		if hits < n*8/10 {
			t.Errorf("seed %d: %d of %d labels are judged as they are, want eight in ten", seed, hits, n)
		}
	}
}

func TestDynamicBootstrapOfEqualLosses(t *testing.T) {
	result := judge(t, trialOf(t, make([]kv.Class, 12), slices.Repeat([]float32{0.5, 0.5}, 12)), "dyb")
	if slices.Contains(result.Flagged, true) {
		t.Errorf("got %v flagged, want none", result.Flagged)
	}
}

func TestPercentile(t *testing.T) {
	for _, c := range []struct {
		sorted      []float64
		share, want float64
	}{{[]float64{5}, 0.99, 5}, {[]float64{1, 2}, 0.5, 1.5}, {[]float64{1, 2, 4}, 1, 4},
		{[]float64{0, 10, 20, 30, 40}, 0.95, 38}} {
		if got := percentile(c.sorted, c.share); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("percentile %v of %v: got %v, want %v", c.share, c.sorted, got, c.want)
		}
	}
}
