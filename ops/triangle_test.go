package ops

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// A wedgeCase is a set of ranks below n, and a list of ranks below n.
func wedgeCase(r *rand.Rand, n, length int) (set rankSet, list []rank) {
	set = newRankSet(n)
	for range r.IntN(2 * n) {
		set.add(rank(r.IntN(n)))
	}
	for _, x := range r.Perm(n)[:length] {
		list = append(list, rank(x))
	}
	slices.Sort(list)
	return set, list
}

// mapOf has the ranks of a set.
func mapOf(set rankSet) rankMap {
	row := make(rankMap, len(set))
	for i, word := range set {
		row[i] = bits.Reverse64(word)
	}
	return row
}

func TestCloseWedgesKernels(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := 1 + r.IntN(700)
		set, list := wedgeCase(r, n, r.IntN(n+1))
		delta := make([]float64, len(list)+closingSlack)
		acc := make([]float64, len(delta))
		for i := range delta {
			delta[i], acc[i] = r.Float64(), r.Float64()
		}
		for i := range closingSlack { // what lies behind a list is not added
			delta[len(list)+i] = math.Inf(1)
		}
		row, words := mapOf(set), appendMapWords(nil, list)
		if seed%2 == 1 { // a map that ends before the list does
			row = row[:r.IntN(len(row)+1)]
			for len(words) > 0 && int(words[len(words)-1].index) >= len(row) {
				words = words[:len(words)-1]
			}
		}
		at := r.Float64()
		wantSum, wantAcc, found := 0.0, slices.Clone(acc), 0
		for i, x := range list {
			if int(x/64) < len(row) && set.has(x) {
				found++
				wantSum += delta[i]
				wantAcc[i] += at
			}
		}
		plainAcc := slices.Clone(acc)
		plain := closeWedgesPlainly(plainAcc, delta, row, words, at)
		got := closeWedges(acc, delta, row, nil, words, at)
		if got != plain || !(got-wantSum <= 1e-15*float64(found+1)*wantSum && wantSum-got <= 1e-15*float64(found+1)*wantSum) {
			t.Fatalf("seed %d, %d ranks, %d of them found: got the sum %v, plainly %v, want %v",
				seed, len(list), found, got, plain, wantSum)
		}
		for i := range wantAcc {
			if acc[i] != wantAcc[i] || plainAcc[i] != wantAcc[i] {
				t.Fatalf("seed %d, place %d: got %v, plainly %v, want %v", seed, i, acc[i], plainAcc[i], wantAcc[i])
			}
		}
	}
}

func TestLookUpKernels(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 1 + r.IntN(700)
		set, list := wedgeCase(r, n, r.IntN(min(n, 64)+1))
		got, plain, want := lookUp(set, list, list[:min(1, len(list))]), lookUpPlainly(set, list), uint64(0)
		for i, x := range list {
			if set.has(x) {
				want |= 1 << (63 - i)
			}
		}
		if got != want || plain != want {
			t.Fatalf("seed %d, %d ranks: got %x, plainly %x, want %x", seed, len(list), got, plain, want)
		}
	}
}

func BenchmarkCloseWedges(b *testing.B) {
	for _, length := range []int{16, 64, 512} {
		r := rand.New(rand.NewPCG(1, 1))
		set, list := wedgeCase(r, 1<<13, length)
		delta, acc := make([]float64, length+closingSlack), make([]float64, length+closingSlack)
		for i := range delta {
			delta[i] = r.Float64()
		}
		row, words := mapOf(set), appendMapWords(nil, list)
		for name, kernel := range map[string]func(){
			"close":        func() { closeWedges(acc, delta, row, row, words, 0) },
			"closePlainly": func() { closeWedgesPlainly(acc, delta, row, words, 0) },
			"lookUp":       func() { lookUp(set, list[:min(64, length)], list) },
		} {
			b.Run(fmt.Sprintf("%s/probes=%d", name, length), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					kernel()
				}
				b.ReportMetric(float64(length)*float64(b.N)/b.Elapsed().Seconds(), "probes/s")
			})
		}
	}
}
