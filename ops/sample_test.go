package ops

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
)

func TestAllSamplesAreTheDefinition(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		g := awkwardGraph(r)
		hops := 1 + r.IntN(MaxSampledHops)
		opt := Options{Workers: 1 + r.IntN(3)}
		d, err := SampleDiagonals(context.Background(), g, hops, SampleOptions{Samples: 1 << 20}, opt)
		if err != nil || d.Hops() != hops {
			t.Fatalf("seed %d: got %v, %v, want diagonals of %d hops", seed, d, err, hops)
		}
		for k := 1; k <= hops; k++ {
			power := densePower(g, k, false)
			for v, got := range d.At(k) {
				if want := power.At(v, v); !(math.Abs(got-want) <= 1e-13) {
					t.Fatalf("seed %d, %d nodes, lists %v: hop %d, node %d: got %v, want %v",
						seed, g.NumNodes(), g.lists, k, v, got, want)
				}
			}
			for v, deviation := range d.StandardError(k) {
				if deviation != 0 {
					t.Errorf("seed %d, hop %d, node %d, all samples: got standard error %v, want 0", seed, k, v, deviation)
				}
			}
		}
	}
}

func TestSamplesAreUnbiased(t *testing.T) {
	ctx := context.Background()
	g := shuffled(rmat(9, 8, 5), 2)
	exact, err := ComputeDiagonals(ctx, g, MaxSampledHops, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const repeats, samples = 60, 40
	for k := 3; k <= MaxSampledHops; k++ {
		n := g.NumNodes()
		mean, variance := make([]float64, n), make([]float64, n)
		far, sampled := 0, 0
		for seed := range uint64(repeats) {
			d, err := SampleDiagonals(ctx, g, MaxSampledHops, SampleOptions{Samples: samples, Seed: seed}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for v, x := range d.At(k) {
				deviation := d.StandardError(k)[v]
				mean[v] += x / repeats
				variance[v] += deviation * deviation / repeats
				if deviation > 0 {
					sampled++
					if math.Abs(x-exact.At(k)[v]) > 4*deviation {
						far++
					}
				} else if math.Abs(x-exact.At(k)[v]) > 1e-13 {
					t.Fatalf("hop %d, node %d: got %v as exact, want %v", k, v, x, exact.At(k)[v])
				}
			}
		}
		if sampled < n*repeats/4 || far > sampled/100 {
			t.Errorf("hop %d: %d of %d values are off by more than 4 standard errors, want less than one in 100",
				k, far, sampled)
		}
		squares, count := 0.0, 0.0
		for v := range n {
			if variance[v] == 0 {
				continue
			}
			z := (mean[v] - exact.At(k)[v]) / math.Sqrt(variance[v]/repeats)
			squares += z * z
			count++
			if math.Abs(z) > 6 {
				t.Errorf("hop %d, node %d: the mean of %d runs is %v, want %v within %v",
					k, v, repeats, mean[v], exact.At(k)[v], math.Sqrt(variance[v]/repeats))
			}
		}
		// Standard errors that are right on the whole give 1; those of few closed samples are on the safe side.
		if spread := math.Sqrt(squares / count); spread < 0.5 || spread > 1.2 {
			t.Errorf("hop %d: means are off by %.2f standard errors, want about 1", k, spread)
		}
	}
}

func TestSamplesSameBits(t *testing.T) {
	ctx := context.Background()
	g := rmat(9, 6, 3)
	samples := SampleOptions{Samples: 20, Seed: 9}
	dir, err := scratch.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, g := range map[string]*listGraph{"by degree": g, "shuffled": shuffled(g, 4)} {
		want, err := SampleDiagonals(ctx, g, MaxSampledHops, samples, Options{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []*scratch.Dir{nil, dir} {
			var tooSmall *BudgetError
			_, err := SampleDiagonals(ctx, g, MaxSampledHops, samples, Options{MemoryBudget: 1, Scratch: dir})
			if !errors.As(err, &tooSmall) || !errors.Is(err, ErrBudget) {
				t.Fatalf("%s, budget of 1 byte: got error %v, want a *BudgetError", name, err)
			}
			for _, workers := range []int{1, 2, 4} {
				for _, budget := range []int64{0, tooSmall.Least} {
					opt := Options{Workers: workers, MemoryBudget: budget, Scratch: dir}
					got, err := SampleDiagonals(ctx, g, MaxSampledHops, samples, opt)
					if err != nil {
						t.Fatalf("%s, %d workers, %d bytes: %v", name, workers, budget, err)
					}
					for k := 1; k <= MaxSampledHops; k++ {
						if !slices.Equal(got.At(k), want.At(k)) || !slices.Equal(got.StandardError(k), want.StandardError(k)) {
							t.Errorf("%s, %d workers, %d bytes: hop %d differs in its bits", name, workers, budget, k)
						}
					}
					if err := got.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		}
		other, err := SampleDiagonals(ctx, g, 3, SampleOptions{Samples: 20, Seed: 10}, Options{})
		if err != nil || slices.Equal(other.At(3), want.At(3)) {
			t.Errorf("%s, another seed: got the same diagonals, %v, want others", name, err)
		}
	}
	checkEmpty(t, dir)
}

func checkEmpty(t *testing.T, dir *scratch.Dir) {
	t.Helper()
	if left, err := os.ReadDir(dir.Path()); err != nil || len(left) > 0 {
		t.Errorf("scratch directory: got %v, %v, want it empty", left, err)
	}
}

func TestSamplesRefuse(t *testing.T) {
	g := rmat(6, 4, 1)
	for _, hops := range []int{0, MaxSampledHops + 1} {
		if _, err := SampleDiagonals(context.Background(), g, hops, SampleOptions{}, Options{}); !errors.Is(err, ErrShape) {
			t.Errorf("%d hops: got error %v, want ErrShape", hops, err)
		}
	}
	_, err := SampleDiagonals(context.Background(), g, 3, SampleOptions{Samples: -1}, Options{})
	if !errors.Is(err, ErrShape) {
		t.Errorf("-1 samples: got error %v, want ErrShape", err)
	}
	exact, err := ComputeDiagonals(context.Background(), g, 3, Options{})
	if err != nil || exact.StandardError(3) != nil {
		t.Errorf("exact diagonals: got %v, standard errors %v, want none", err, exact.StandardError(3))
	}
}

func TestSamplesStop(t *testing.T) {
	dir, err := scratch.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no disk")
	base := rmat(8, 6, 1)
	base.block = 10
	sizes, err := Measure(context.Background(), base, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []int64{0, 40, 60, 100, 200, 300, 400} {
		ctx, cancel := context.WithCancel(context.Background())
		g := &interruptedGraph{Graph: base, then: cancel}
		g.reads.Store(-after)
		opt := Options{Workers: 2, Scratch: dir}
		if _, err := SampleDiagonals(ctx, g, 4, SampleOptions{}, opt); err != context.Canceled {
			t.Errorf("cancelled at block %d: got error %v, want %v", after, err, context.Canceled)
		}
		cancel()
		g = &interruptedGraph{Graph: base, fail: broken}
		g.reads.Store(-after)
		if _, err := SampleDiagonals(context.Background(), g, 4, SampleOptions{}, opt); !errors.Is(err, broken) {
			t.Errorf("failing at block %d: got error %v, want %v", after, err, broken)
		}
		g.reads.Store(-after)
		opt.MemoryBudget = sizes.LeastForDiagonals(MaxHops) // so that no lists are kept
		if _, err := ComputeDiagonals(context.Background(), g, MaxHops, opt); !errors.Is(err, broken) {
			t.Errorf("exact, failing at block %d: got error %v, want %v", after, err, broken)
		}
	}
	checkEmpty(t, dir)
}
