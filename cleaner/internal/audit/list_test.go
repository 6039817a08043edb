package audit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestForgiven compares with counts of all ways to draw.
func TestForgiven(t *testing.T) {
	for size := int64(1); size <= 12; size++ {
		for draws := int64(1); draws <= size; draws++ {
			for _, share := range []float64{0.05, 0.1, 0.25, 0.3, 0.5} {
				for _, err := range []float64{0.016, 0.08, 0.1} {
					wasted := int64(math.Floor(share*float64(size)+1e-9)) + 1
					ways := make([]float64, draws+1) // by wasted draws, where the first labels are wasted
					var all float64
					for set := range uint64(1) << size {
						var of, bad int64
						for v := range size {
							of += int64(set >> v & 1)
							if v < wasted {
								bad += int64(set >> v & 1)
							}
						}
						if of == draws {
							ways[bad]++
							all++
						}
					}
					want, sum := int64(-1), 0.
					for c, n := range ways {
						if sum += n; sum/all > err+1e-12 {
							break
						}
						want = int64(c)
					}
					if got := Forgiven(size, draws, share, err); got != want {
						t.Errorf("%d of %d, share %v, error %v: %d forgiven, want %d", draws, size, share, err, got, want)
					}
				}
			}
		}
	}
	if got := Forgiven(1<<30, 22, 0.1, 0.1); got != 0 {
		t.Errorf("22 draws without a wasted one prove .1 of a long list: %d forgiven", got)
	}
	if got := Forgiven(1<<30, 21, 0.1, 0.1); got != -1 {
		t.Errorf("21 draws prove nothing: %d forgiven", got)
	}
}

func TestListDraws(t *testing.T) {
	for share, want := range map[float64]int64{0.05: 50, 0.1: 24, 0.2: 27, 0.3: 26} {
		if got := ListDraws(share, AttemptError(0)); got != want {
			t.Errorf("a share of %v wants %d draws, want %d", share, got, want)
		}
	}
	var all float64
	for attempt := range 20 {
		all += AttemptError(attempt)
		if n := ListDraws(0.01, AttemptError(attempt)); attempt < 4 && Forgiven(endless, n, 0.01, AttemptError(attempt)) < 0 {
			t.Errorf("attempt %d: %d draws prove nothing", attempt, n)
		}
	}
	if math.Abs(all-ListError) > 1e-9 {
		t.Errorf("all attempts have an error of %v, want %v", all, ListError)
	}
}

func newList(t testing.TB, seed uint64, draws int64, share float64, all []float64) *List {
	t.Helper()
	return must.Get(NewList(seed, 0, draws, share, AttemptError(0), labels(all)))(t)
}

func TestListFollowsChances(t *testing.T) {
	all := make([]float64, 3000) // a third good, the rest more and more wasted
	for v := range all {
		all[v] = max(0.001, float64(v-1000)/2000)
	}
	var before int
	for _, share := range []float64{0.05, 0.1, 0.2, 0.3} {
		l := newList(t, 1, 50, share, all)
		if len(l.Nodes) < 1000 || len(l.Nodes) <= before || len(l.Nodes) > 2000 {
			t.Errorf("share %v: %d labels, %d with a smaller share", share, len(l.Nodes), before)
		}
		before = len(l.Nodes)
		if !slices.IsSorted(l.Nodes) || int(l.Nodes[len(l.Nodes)-1]) != len(l.Nodes)-1 {
			t.Errorf("share %v: the list is not the labels with the lowest chances", share)
		}
		drawn := slices.Clone(l.Draws)
		slices.Sort(drawn)
		if len(slices.Compact(drawn)) != 50 || drawn[49] > l.Nodes[len(l.Nodes)-1] {
			t.Errorf("share %v: draws %d", share, l.Draws)
		}
		if again := newList(t, 1, 50, share, all); !slices.Equal(again.Draws, l.Draws) {
			t.Error("the same seed gives other draws")
		}
		if other := newList(t, 2, 50, share, all); slices.Equal(other.Draws, l.Draws) || !slices.Equal(other.Nodes, l.Nodes) {
			t.Error("another seed gives the same draws, or another list")
		}
	}
	for _, few := range [][]float64{nil, {0.5}, {0, 0, 0}, {0, 1}} {
		l := newList(t, 1, 24, 0.1, few)
		if len(l.Nodes) > len(few) || len(l.Draws) != len(l.Nodes) || len(few) == 3 && len(l.Nodes) != 3 {
			t.Errorf("%v: %+v", few, l)
		}
	}
}

// A list is told although more of it is wasted than was promised in at most ListError of runs, all attempts of a run
// together, also where scores say nothing and a little more than the share is wasted; where scores are right, half of
// the good labels are found.
func TestListsHold(t *testing.T) {
	const n, runs = 1000, 100
	for _, share := range []float64{0.1, 0.3} {
		for _, scores := range []string{"say nothing", "say too much", "are right"} {
			chance := rand.New(rand.NewPCG(7, uint64(share*100)))
			waste, wasted := make([]float64, n), make([]bool, n)
			var good float64
			for v := range waste {
				waste[v] = chance.Float64()
				rate := share + 0.005
				if scores == "are right" {
					waste[v] = waste[v] * waste[v] * waste[v]
					rate = waste[v]
				}
				wasted[v] = chance.Float64() < rate
				if scores == "say too much" {
					waste[v] /= 50
				}
				if !wasted[v] {
					good++
				}
			}
			var broken, power float64
			for seed := range uint64(runs) {
				for attempt := range 3 {
					err := AttemptError(attempt)
					l := must.Get(NewList(seed, attempt, ListDraws(share, err), share, err, labels(waste)))(t)
					var bad, all int64
					for _, v := range l.Draws {
						if wasted[v] {
							bad++
						}
					}
					if bad > Forgiven(int64(len(l.Nodes)), int64(len(l.Draws)), share, err) {
						continue
					}
					for _, v := range l.Nodes {
						if wasted[v] {
							all++
						}
					}
					if size := float64(len(l.Nodes)); float64(all) > share*size {
						broken += 1. / runs
					} else {
						power += (size - float64(all)) / good / runs
					}
					break
				}
			}
			name := fmt.Sprintf("share %v, scores %s", share, scores)
			t.Logf("%s: broken in %.3f of runs, power %.3f", name, broken, power)
			if broken > ListError+0.04 { // 1.3 standard errors
				t.Errorf("%s: %.3f of the runs broke the promise", name, broken)
			}
			if scores == "are right" && power < 0.4 {
				t.Errorf("%s: power %.3f", name, power)
			}
		}
	}
}
