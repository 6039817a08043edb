package kernel

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
)

// A wedgeCase is a set of ranks below n, and a list of ranks below n.
func wedgeCase(r *rand.Rand, n, length int) (set RankSet, list []Rank) {
	set = bitset.New[Rank](n)
	for range r.IntN(2 * n) {
		set.Add(Rank(r.IntN(n)))
	}
	for _, x := range r.Perm(n)[:length] {
		list = append(list, Rank(x))
	}
	slices.Sort(list)
	return set, list
}

// mapOf has the ranks of a set.
func mapOf(set RankSet) RankMap {
	row := make(RankMap, len(set))
	for i, word := range set {
		row[i] = bits.Reverse64(word)
	}
	return row
}

func TestCloseWedgesKernels(t *testing.T) {
	for seed := range uint64(longtest.Of(200, 1000)) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := 1 + r.IntN(700)
		set, list := wedgeCase(r, n, r.IntN(n+1))
		other, _ := wedgeCase(r, n, 0)
		delta := make([]float64, len(list)+ClosingSlack)
		acc := make([]float64, len(delta))
		for i := range delta {
			delta[i], acc[i] = r.Float64(), r.Float64()
		}
		for i := range ClosingSlack { // what lies after a list is not added
			delta[len(list)+i] = math.Inf(1)
		}
		words := AppendMapWords(nil, list, nil)
		if most := MostMapWords(int64(n+63) / 64 * 64); int64(len(words)) > most {
			t.Fatalf("seed %d: got %d words, want at most %d", seed, len(words), most)
		}
		first, second := ClosingRow{mapOf(set), r.Float64()}, ClosingRow{mapOf(other), r.Float64()}
		shared := len(words)
		if seed%2 == 1 { // maps that end before the list does
			first.Set = first.Set[:r.IntN(len(first.Set)+1)]
			second.Set = second.Set[:len(first.Set)+r.IntN(len(second.Set)-len(first.Set)+1)]
			for ; len(words) > 0 && int(words[len(words)-1].Index) >= len(second.Set); words = words[:len(words)-1] {
			}
			for shared = len(words); shared > 0 && int(words[shared-1].Index) >= len(first.Set); shared-- {
			}
		}
		if seed%5 == 0 { // one row, and what is to be ignored
			second = ClosingRow{Set: first.Set}
			words = words[:shared]
		}
		var wantSums [2]float64
		wantAcc, found := slices.Clone(acc), 0
		for row, closing := range []ClosingRow{first, second} {
			for i, x := range list {
				if int(x/64) < len(closing.Set) && closing.Set[x/64]&(1<<(63-x%64)) != 0 {
					found++
					wantSums[row] += delta[i]
					wantAcc[i] += closing.At
				}
			}
		}
		plainAcc := slices.Clone(acc)
		var plain, got [2]float64
		plain[0], plain[1] = closeWedgesPlainly(plainAcc, delta, words, shared, first, second)
		got[0], got[1] = CloseWedges(acc, delta, words, shared, first, second, first.Set, nil)
		for row, want := range wantSums {
			if got[row] != plain[row] || !(math.Abs(got[row]-want) <= 1e-15*float64(found+1)*want) {
				t.Fatalf("seed %d, %d ranks, %d of them found: got the sum %v of row %d, plainly %v, want %v",
					seed, len(list), found, got[row], row, plain[row], want)
			}
		}
		for i := range wantAcc {
			if acc[i] != wantAcc[i] || plainAcc[i] != wantAcc[i] {
				t.Fatalf("seed %d, place %d: got %v, plainly %v, want %v", seed, i, acc[i], plainAcc[i], wantAcc[i])
			}
		}
	}
}

// The places before each fill as many words as a list of them alone.
func TestMapWordsTaken(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		n := 1 + r.IntN(2000)
		_, list := wedgeCase(r, n, r.IntN(n+1))
		taken := make([]uint32, len(list))
		AppendMapWords(nil, list, taken)
		for i, got := range taken {
			if want := len(AppendMapWords(nil, list[:i], nil)); int(got) != want {
				t.Fatalf("seed %d, place %d: got %d words, want %d", seed, i, got, want)
			}
		}
	}
}

func TestLookUpKernels(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 1 + r.IntN(700)
		set, list := wedgeCase(r, n, r.IntN(min(n, 64)+1))
		got, plain, want := LookUp(set, list, list[:min(1, len(list))]), lookUpPlainly(set, list), uint64(0)
		for i, x := range list {
			if set[x/64]&(1<<(x%64)) != 0 {
				want |= 1 << (63 - i)
			}
		}
		if got != want || plain != want {
			t.Fatalf("seed %d, %d ranks: got %x, plainly %x, want %x", seed, len(list), got, plain, want)
		}
	}
}
