package query

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestSumsAreExact adds numbers in two orders and in parts, and compares the sum with one of fractions.
func TestSumsAreExact(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 9))
		var numbers []float64
		for range 1 + r.IntN(40) {
			x := math.Ldexp(r.Float64()-0.5, r.IntN(2090)-1074)
			if r.IntN(3) == 0 { // of about one size
				x = math.Ldexp(r.Float64()-0.5, r.IntN(28)+990)
			}
			numbers = append(numbers, x)
			if r.IntN(3) == 0 {
				numbers = append(numbers, -x)
			}
		}
		want := new(big.Rat)
		var first, second exactSum
		var parts [3]exactSum
		for i, x := range numbers {
			want.Add(want, new(big.Rat).SetFloat64(x))
			first.add(x)
			second.add(numbers[len(numbers)-1-i])
			parts[r.IntN(3)].add(x)
		}
		var third exactSum
		for _, part := range parts {
			if rest := third.addFrom(append(part.appendTo(nil), 7)); len(rest) != 1 {
				t.Fatalf("seed %d: %d bytes are left, want the one that follows", seed, len(rest))
			}
		}
		nearest, _ := want.Float64()
		mean, _ := new(big.Rat).Quo(want, new(big.Rat).SetInt64(int64(len(numbers)))).Float64()
		for i, sum := range []exactSum{first, second, third} {
			if got := sum.float(); got != nearest {
				t.Fatalf("seed %d, way %d: got the sum %g of %v, want %g", seed, i, got, numbers, nearest)
			}
			if got := sum.mean(int64(len(numbers))); got != mean {
				t.Fatalf("seed %d, way %d: got the mean %g, want %g", seed, i, got, mean)
			}
		}
	}
}

func TestSumsOfIntegers(t *testing.T) {
	var s exactSum
	for _, n := range []int64{math.MaxInt64, 5, math.MinInt64, -7, math.MaxInt64, -1 << 53, 1<<53 + 1} {
		s.addInt(n)
	}
	if got, fits := s.integer(); !fits || got != math.MaxInt64-2 {
		t.Errorf("got %d, %v, want %d", got, fits, int64(math.MaxInt64-2))
	}
	s.addInt(3)
	if got, fits := s.integer(); fits {
		t.Errorf("got %d for 2^63, want that it does not fit", got)
	}
}

func TestSumsOfInfiniteNumbers(t *testing.T) {
	var s exactSum
	s.add(1)
	s.add(math.Inf(1))
	if got := s.float(); !math.IsInf(got, 1) {
		t.Errorf("got %g, want +Inf", got)
	}
	s.add(math.Inf(-1))
	if got := s.mean(3); !math.IsNaN(got) {
		t.Errorf("got %g, want NaN", got)
	}
}
