package conformal

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/golden"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

func of(scores []float64) Scores {
	return func(yield func(float64, error) bool) {
		for _, s := range scores {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// exactRank is B in exact arithmetic, for p = pn/1000 and alpha = an/1000: ⌈(N·own + 1)(1 − alpha) + N·other⌉.
func exactRank(n, own, other, an int64) int {
	ratio := func(a int64) *big.Rat { return big.NewRat(a, 1000) }
	count := new(big.Rat).SetInt64(n)
	b := new(big.Rat).Mul(count, ratio(own))
	b.Add(b, big.NewRat(1, 1))
	b.Mul(b, ratio(1000-an))
	b.Add(b, new(big.Rat).Mul(count, ratio(other)))
	quotient, rest := new(big.Int).QuoRem(b.Num(), b.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return int(quotient.Int64())
}

// atRank is the b-th of values.
func atRank(values []float64, b int) float64 {
	if b > len(values) {
		return math.Inf(1)
	}
	return slices.Sorted(slices.Values(values))[max(b, 1)-1]
}

func TestThresholdsAreTheExactOrderStatistic(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := r.IntN(120)
		var scores, whole, modified []float64
		for range n {
			s := float64(r.IntN(50)) / 49
			if seed%2 == 0 {
				s = r.Float64() - float64(r.IntN(2))
			}
			scores, whole = append(scores, s), append(whole, s)
			if r.IntN(5) == 0 {
				scores = append(scores, math.NaN())
			}
			if s <= 0.5 {
				s = 1
			}
			modified = append(modified, 1-s)
		}
		pn, an := int64(r.IntN(1001)), 1+int64(r.IntN(999))
		p, alpha := float64(pn)/1000, float64(an)/1000

		what := fmt.Sprintf("seed %d: N = %d, p = %v, alpha = %v", seed, n, p, alpha)
		want := atRank(whole, exactRank(int64(n), 1000-pn, pn, an))
		if got := must.Get(FalsePositives(of(scores), p, alpha))(t); got.Lambda != want || got.Scores != int64(n) {
			t.Fatalf("%s, false positives: got %+v, want λ = %v", what, got, want)
		}
		want = atRank(modified, exactRank(int64(n), pn, 1000-pn, an))
		if got := must.Get(FalseNegatives(of(scores), p, alpha))(t); got.Lambda != want {
			t.Fatalf("%s, false negatives: got %+v, want λ = %v", what, got, want)
		}
	}
}

func TestLeastAlphaIsTheLeast(t *testing.T) {
	for name, threshold := range map[string]func(Scores, float64, float64) (Threshold, error){
		"false positives": FalsePositives,
		"false negatives": FalseNegatives,
	} {
		for n := 1; n < 300; n += 29 {
			scores := make([]float64, n)
			for i := range scores {
				scores[i] = float64(i) / float64(n)
			}
			for _, p := range []float64{0.01, 0.05, 0.1, 0.3, 0.9} {
				least := must.Get(threshold(of(scores), p, 0.5))(t).MinAlpha
				if least >= 1 {
					continue
				}
				if at := must.Get(threshold(of(scores), p, least))(t); math.IsInf(at.Lambda, 1) {
					t.Errorf("%s, N = %d, p = %v: least alpha %v has no finite threshold", name, n, p, least)
				}
				if below := must.Get(threshold(of(scores), p, least*0.999))(t); !math.IsInf(below.Lambda, 1) {
					t.Errorf("%s, N = %d, p = %v: got λ = %v below the least alpha %v, want +Inf", name, n, p, below.Lambda, least)
				}
			}
		}
	}
}

func TestThresholdsOfBadInput(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ p, alpha float64 }{{0.1, 0}, {0.1, 1}, {0.1, -1}, {0.1, nan}, {-0.1, 0.5}, {1.1, 0.5},
		{nan, 0.5}} {
		for _, threshold := range []func(Scores, float64, float64) (Threshold, error){FalsePositives, FalseNegatives} {
			if got := must.Get(threshold(of([]float64{0.5}), c.p, c.alpha))(t); !math.IsNaN(got.Lambda) ||
				!math.IsNaN(got.MinAlpha) {
				t.Errorf("p = %v, alpha = %v: got %+v, want NaN", c.p, c.alpha, got)
			}
		}
	}
	if got := must.Get(FalsePositives(of([]float64{nan, nan}), 0.1, 0.5))(t); !math.IsInf(got.Lambda, 1) ||
		got.MinAlpha != 1 {
		t.Errorf("nothing scored: got %+v, want +Inf and 1", got)
	}
}

func TestGolden(t *testing.T) {
	golden.Each(t, "../testdata/golden", func(t *testing.T, g golden.Graph) {
		for _, want := range g.Thresholds {
			if got := must.Get(FalsePositives(of(g.Scores), want.P, want.Alpha))(t); !golden.Near(got.Lambda,
				float64(want.FPR), 1e-9) {
				t.Errorf("false positives, p = %v, alpha = %v: got %+v, want λ = %v", want.P, want.Alpha, got, want.FPR)
			}
			if got := must.Get(FalseNegatives(of(g.Scores), want.P, want.Alpha))(t); !golden.Near(got.Lambda,
				float64(want.ModifiedFNR), 1e-9) {
				t.Errorf("false negatives, p = %v, alpha = %v: got %+v, want λ = %v", want.P, want.Alpha, got, want.ModifiedFNR)
			}
		}
	})
}

// TestStored reads the scores of a store, some of whose nodes have none.
func TestStored(t *testing.T) {
	const nodes = 1000
	s := kvtest.Load(t, kvtest.NumberedGraph(make([]string, nodes)))
	b := must.Get(s.Bulk(t.Context()))(t)
	defer b.Abort()
	column := must.Get(b.Column(decide.ScoreColumn, kv.KindSingle))(t)
	scores := slices.Repeat([]float64{math.NaN()}, nodes)
	for v := 0; v < nodes; v += 3 {
		scores[v] = float64(float32(v%7) / 7)
		must.Do(t, column.Put(kv.NodeID(v), kv.ValueOf(scores[v])))
	}
	must.Do(t, b.Commit(nil))
	must.Do(t, s.View(func(tx *kv.Tx) error {
		got, want := must.Get(FalsePositives(Stored(t.Context(), tx), 0.1, 0.3))(t),
			must.Get(FalsePositives(of(scores), 0.1, 0.3))(t)
		if got != want || got.Scores != (nodes+2)/3 {
			t.Errorf("got %+v, want %+v", got, want)
		}
		return nil
	}))
}
