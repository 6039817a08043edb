package elementary

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

const precision = 300 // bits of what is compared with

// bigExp is e^x.
func bigExp(x float64) *big.Float {
	const halvings = 24
	number := func() *big.Float { return new(big.Float).SetPrec(precision) }
	small := number().SetMantExp(number().SetFloat64(x), -halvings)
	sum, term := number().SetInt64(1), number().SetInt64(1)
	for n := int64(1); n < 30; n++ {
		term.Mul(term, small)
		term.Quo(term, number().SetInt64(n))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// ulps is |got − want| in units of the last place of got, given their difference.
func ulps(got, difference float64) float64 {
	return math.Abs(difference) / (math.Nextafter(math.Abs(got), math.Inf(1)) - math.Abs(got))
}

// draws are exponents and what has such logarithms, of all sizes.
func draws(count int) []float64 {
	r, x := rand.New(rand.NewPCG(1, 2)), []float64{0, 709.7827, -708.3964, -720, -745.1332}
	for range count {
		sign := float64(2*r.IntN(2) - 1)
		x = append(x, sign*700*r.Float64(), sign*math.Ldexp(r.Float64(), -r.IntN(30)), (r.Float64()-0.5)*20)
	}
	return x
}

func TestExp(t *testing.T) {
	for _, x := range draws(300) {
		got := Exp(x)
		difference, _ := new(big.Float).Sub(bigExp(x), big.NewFloat(got)).Float64()
		if off := ulps(got, difference); !(off < 1) {
			t.Errorf("Exp(%v): got %v, which is %.2f ulps off", x, got, off)
		}
	}
	for x, want := range map[float64]float64{
		0: 1, math.Inf(1): math.Inf(1), math.Inf(-1): 0, 710: math.Inf(1), -746: 0, 5e-324: 1, -1e-300: 1,
	} {
		if got := Exp(x); got != want {
			t.Errorf("Exp(%v): got %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{math.Log(math.MaxFloat64), -745.1332191019411} {
		if got := Exp(x); !(got > 0 && got <= math.MaxFloat64) || Exp(math.Nextafter(x, 2*x)) > 0 && x < 0 {
			t.Errorf("Exp(%v), at a bound: got %v", x, got)
		}
	}
	if got := Exp(math.NaN()); got == got {
		t.Errorf("Exp(NaN): got %v", got)
	}
}

// TestMany holds many at once to the bits of one, at any place among numbers of any size.
func TestMany(t *testing.T) {
	x := append(draws(2000), math.NaN(), math.Inf(1), math.Inf(-1), 700, -700, math.Nextafter(700, 701), 1000, -1000,
		math.Copysign(0, -1))
	x = append(x, 0x1p-1022, math.Nextafter(0x1p-1022, 0), math.SmallestNonzeroFloat64, math.MaxFloat64, math.Sqrt(.5), 1,
		math.Nextafter(1, 2))
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		x = append(x, math.Ldexp(1+r.Float64(), r.IntN(2046)-1022))
	}
	for _, c := range []struct {
		name string
		many func([]float64)
		one  func(float64) float64
	}{{"Exps", Exps, Exp}, {"Logs", Logs, Log}} {
		for range 50 {
			r.Shuffle(len(x), func(a, b int) { x[a], x[b] = x[b], x[a] })
			for _, length := range []int{r.IntN(9), r.IntN(70), len(x)} {
				got := slices.Clone(x[:length])
				c.many(got)
				for i, value := range got {
					if want := c.one(x[i]); math.Float64bits(value) != math.Float64bits(want) {
						t.Fatalf("%s: number %d of %d, %v: got %v, want %v", c.name, i, length, x[i], value, want)
					}
				}
			}
		}
	}
}

func TestLog(t *testing.T) {
	for _, y := range draws(300) {
		x := Exp(y)
		got := Log(x)
		// e^got/x − 1 is the error of the logarithm.
		ratio := new(big.Float).Quo(bigExp(got), big.NewFloat(x))
		difference, _ := ratio.Sub(ratio, big.NewFloat(1)).Float64()
		if off := ulps(got, difference); x != 1 && !(off < 1) {
			t.Errorf("Log(%v): got %v, which is %.2f ulps off", x, got, off)
		}
	}
	for x, want := range map[float64]float64{
		1: 0, 0: math.Inf(-1), math.Inf(1): math.Inf(1), 2: math.Ln2, 0.5: -math.Ln2,
	} {
		if got := Log(x); got != want {
			t.Errorf("Log(%v): got %v, want %v", x, got, want)
		}
	}
	if a, b := Log(-1), Log(math.NaN()); a == a || b == b {
		t.Errorf("Log(-1), Log(NaN): got %v, %v", a, b)
	}
}

func TestCos(t *testing.T) {
	for i := range 1001 {
		x := math.Pi * float64(i-500) / 500
		if got, want := Cos(x), math.Cos(x); !(math.Abs(got-want) < 4e-15) {
			t.Errorf("Cos(%v): got %v, want %v", x, got, want)
		}
	}
}

// TestSameBitsOnEveryProcessor holds every processor to bits that were computed on one.
func TestSameBitsOnEveryProcessor(t *testing.T) {
	const want = uint64(0x6430845e5773b904)
	sum := fnv.New64a()
	for _, x := range draws(10000) {
		for _, y := range []float64{Exp(x), Log(math.Abs(x)), Cos(math.Remainder(x, 2*math.Pi))} {
			_, _ = sum.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(y)))
		}
	}
	if got := sum.Sum64(); got != want {
		t.Errorf("hash of 30,015 results: got %#x, want %#x", got, want)
	}
}
