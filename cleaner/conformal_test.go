package cleaner

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

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

func orderStatistic(values []float64, b int) float64 {
	if b > len(values) {
		return math.Inf(1)
	}
	return slices.Sorted(slices.Values(values))[max(b, 1)-1]
}

func TestThresholdsAreTheExactOrderStatistic(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := r.IntN(120)
		scores := make([]float64, n)
		modified := make([]float64, n)
		for i := range scores {
			scores[i] = float64(r.IntN(50)) / 49
			if scores[i] > 0.5 {
				modified[i] = 1 - scores[i]
			}
		}
		pn, an := int64(r.IntN(1001)), 1+int64(r.IntN(999))
		p, alpha := float64(pn)/1000, float64(an)/1000

		what := fmt.Sprintf("seed %d: N = %d, p = %v, alpha = %v", seed, n, p, alpha)
		if got, _ := FalsePositiveThreshold(scores, p, alpha); got != orderStatistic(scores, exactRank(int64(n), 1000-pn, pn, an)) {
			t.Fatalf("%s, false positives: got λ = %v, want %v", what, got, orderStatistic(scores, exactRank(int64(n), 1000-pn, pn, an)))
		}
		if got, _ := FalseNegativeThreshold(scores, p, alpha); got != orderStatistic(modified, exactRank(int64(n), pn, 1000-pn, an)) {
			t.Fatalf("%s, false negatives: got λ = %v, want %v", what, got, orderStatistic(modified, exactRank(int64(n), pn, 1000-pn, an)))
		}
	}
}

func TestLeastAlphaIsTheLeast(t *testing.T) {
	for name, threshold := range map[string]func([]float64, float64, float64) (float64, float64){
		"false positives": FalsePositiveThreshold,
		"false negatives": FalseNegativeThreshold,
	} {
		for n := 1; n < 300; n += 7 {
			scores := make([]float64, n)
			for i := range scores {
				scores[i] = float64(i) / float64(n)
			}
			for _, p := range []float64{0.01, 0.05, 0.1, 0.3, 0.9} {
				_, least := threshold(scores, p, 0.5)
				if least >= 1 {
					continue
				}
				if at, _ := threshold(scores, p, least); math.IsInf(at, 1) {
					t.Errorf("%s, N = %d, p = %v: least alpha %v has no finite threshold", name, n, p, least)
				}
				if below, _ := threshold(scores, p, least*0.999); !math.IsInf(below, 1) {
					t.Errorf("%s, N = %d, p = %v: got λ = %v below the least alpha %v, want +Inf", name, n, p, below, least)
				}
			}
		}
	}
}

// The guarantee itself: of clean nodes exchangeable with those that are scored, at most a share alpha exceeds λ,
// wherever the mislabelled ones stand in the order.
func TestFalsePositiveGuarantee(t *testing.T) {
	const (
		n, wrong     = 200, 20
		alpha, tries = 0.1, 3000
	)
	r := rand.New(rand.NewPCG(11, 0))
	for _, low := range []bool{false, true} {
		var exceeded int
		for range tries {
			scores := make([]float64, n)
			for i := range scores {
				scores[i] = r.Float64()
				if i < wrong && low {
					scores[i] = 0
				} else if i < wrong {
					scores[i] = 1
				}
			}
			lambda, _ := FalsePositiveThreshold(scores, float64(wrong)/n, alpha)
			if r.Float64() > lambda { // one more clean node
				exceeded++
			}
		}
		if share := float64(exceeded) / tries; share > alpha+0.02 {
			t.Errorf("mislabelled nodes low = %v: got a share of %.3f of clean nodes above λ, want at most %v", low, share, alpha)
		}
	}
}

func TestThresholdsOfBadInput(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ p, alpha float64 }{{0.1, 0}, {0.1, 1}, {0.1, -1}, {0.1, nan}, {-0.1, 0.5}, {1.1, 0.5}, {nan, 0.5}} {
		if lambda, least := FalsePositiveThreshold([]float64{0.5}, c.p, c.alpha); !math.IsNaN(lambda) || !math.IsNaN(least) {
			t.Errorf("false positives, p = %v, alpha = %v: got %v, %v, want NaN", c.p, c.alpha, lambda, least)
		}
		if lambda, least := FalseNegativeThreshold([]float64{0.5}, c.p, c.alpha); !math.IsNaN(lambda) || !math.IsNaN(least) {
			t.Errorf("false negatives, p = %v, alpha = %v: got %v, %v, want NaN", c.p, c.alpha, lambda, least)
		}
	}
	if lambda, least := FalsePositiveThreshold([]float64{nan, nan}, 0.1, 0.5); !math.IsInf(lambda, 1) || least != 1 {
		t.Errorf("nothing scored: got %v, %v, want +Inf and 1", lambda, least)
	}
	scores := []float64{0.9, nan, 0.1}
	FalsePositiveThreshold(scores, 0.1, 0.5)
	if scores[0] != 0.9 || scores[2] != 0.1 {
		t.Errorf("scores: got %v, want them left as they were", scores)
	}
}

// TestStoredThreshold finds the same thresholds, to the bit, as those of the scores in memory: of scores of many and of
// few different values, with nodes that have none.
func TestStoredThreshold(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := []int{1, 2, 300, 5000, 9000, 20_000}[seed]
		kind := []kv.Kind{kv.KindSingle, kv.KindFloat}[seed%2]
		s := must.Get(kv.Create(filepath.Join(t.TempDir(), "g"), kv.Options{}))(t)
		defer s.Close()
		must.Do(t, s.Update(func(tx *kv.Tx) error {
			for v := range n {
				if _, err := tx.AddNode(kv.Node{ID: strconv.Itoa(v)}); err != nil {
					return err
				}
			}
			return nil
		}))
		b := must.Get(s.Bulk(context.Background()))(t)
		defer b.Abort()
		column := must.Get(b.Column(ScoreColumn, kind))(t)
		scores := make([]float64, n)
		for v := range scores {
			switch r.IntN(5) {
			case 0:
				scores[v] = math.NaN()
				continue
			case 1:
				scores[v] = float64(r.IntN(4)) / 3
			case 2:
				scores[v] = r.Float64() - 0.5
			default:
				scores[v] = r.Float64()
			}
			if kind == kv.KindSingle {
				scores[v] = float64(float32(scores[v]))
			}
			must.Do(t, column.Put(kv.NodeID(v), kv.ValueOf(scores[v])))
		}
		must.Do(t, b.Commit(nil))
		view(t, s, func(tx *kv.Tx) error {
			for range 40 {
				rate, alpha := r.Float64(), r.Float64()
				if r.IntN(10) == 0 {
					rate = 2
				}
				for name, of := range map[string]struct {
					want func([]float64, float64, float64) (float64, float64)
					got  func(context.Context, *kv.Tx, float64, float64) (StoredThreshold, error)
				}{
					"false positives": {FalsePositiveThreshold, StoredFalsePositiveThreshold},
					"false negatives": {FalseNegativeThreshold, StoredFalseNegativeThreshold},
				} {
					lambda, least := of.want(scores, rate, alpha)
					got := must.Get(of.got(t.Context(), tx, rate, alpha))(t)
					same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b }
					if !same(got.Lambda, lambda) || !same(got.MinAlpha, least) || got.Scores != int64(len(withoutNaN(scores))) {
						t.Errorf("%s of %d nodes, p %v, α %v: got %+v, want λ %v, least α %v", name, n, rate, alpha, got, lambda, least)
					}
				}
			}
			return nil
		})
	}
}
