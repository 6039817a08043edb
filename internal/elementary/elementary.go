// Package elementary computes the exponential function, the logarithm and the cosine to the same bits on every
// processor. Those of package math are in assembly on some, and on others the compiler fuses their products with sums.
// Here every product that goes into a sum is converted to float64, which rounds it by itself (see the Go specification,
// "Floating-point operators"), and divisions and sums are rounded as IEEE 754 says.
package elementary

import "math"

// The logarithm of 2 in two parts. The first has 32 bits, so that its product with an exponent is exact.
const (
	ln2High = 0x1.62e42feep-1
	ln2Low  = math.Ln2 - ln2High
)

// Exp is e^x to within an ulp: 0 below the least number, +Inf above the largest, NaN of NaN.
func Exp(x float64) float64 {
	const (
		most, least = 0x1.62e42fefa39efp9, -0x1.74910d52d3051p9 // the numbers that have a result other than Inf and 0
		shift       = 0x1.8p52                                  // a sum with it is rounded to a whole number
	)
	switch {
	case x != x:
		return x
	case x > most:
		return math.Inf(1)
	case x < least:
		return 0
	}
	// e^x = 2^k e^(r+c) with |r| ≤ ln(2)/2, and c what r has lost in rounding.
	sum := float64(x*(1/math.Ln2)) + shift
	k := sum - shift
	high, low := x-float64(k*ln2High), float64(k*ln2Low)
	r := high - low
	c := high - r - low
	// The Taylor series up to r^13/13!, from r²/2 on.
	r2 := float64(r * r)
	r4 := float64(r2 * r2)
	p0 := 1.0/2 + float64(r*(1.0/6)) + float64(r2*(1.0/24+float64(r*(1.0/120))))
	p4 := 1.0/720 + float64(r*(1.0/5040)) + float64(r2*(1.0/40320+float64(r*(1.0/362880))))
	p8 := 1.0/3628800 + float64(r*(1.0/39916800)) + float64(r2*(1.0/479001600+float64(r*(1.0/6227020800))))
	tail := float64(r2 * (p0 + float64(r4*(p4+float64(r4*p8)))))
	y := 1 + (r + (c + tail))
	exponent := int64(math.Float64bits(sum)<<52) >> 52 // k, which has fewer than 12 bits
	if exponent < -1020 {
		return math.Float64frombits(math.Float64bits(y)+uint64(exponent+64)<<52) * 0x1p-64 // not a normal number, perhaps
	}
	return math.Float64frombits(math.Float64bits(y) + uint64(exponent)<<52)
}

// Exps replaces numbers by their Exp.
func Exps(x []float64) { replace(x, false) }

// Log is the natural logarithm of x to within an ulp: −Inf of 0, NaN below and of NaN, +Inf of +Inf.
func Log(x float64) float64 {
	switch {
	case x != x || x > math.MaxFloat64:
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	var k int64
	if x < 0x1p-1022 {
		x *= 0x1p54
		k = -54
	}
	// x = 2^k (1+f) with √½ ≤ 1+f < √2.
	const rootOfHalf = 0x3fe6a09e667f3bcd // the bits of √½
	bits := math.Float64bits(x)
	exponent := int64(bits-rootOfHalf) >> 52
	k += exponent
	f := math.Float64frombits(bits-uint64(exponent)<<52) - 1
	// ln(1+f) = 2 artanh(s) = f − f²/2 + s (f²/2 + 2s²/3 + 2s⁴/5 + …)
	s := f / (2 + f)
	z := float64(s * s)
	z2 := float64(z * z)
	z4 := float64(z2 * z2)
	p0 := 2.0/3 + float64(z*(2.0/5)) + float64(z2*(2.0/7+float64(z*(2.0/9))))
	p4 := 2.0/11 + float64(z*(2.0/13)) + float64(z2*(2.0/15+float64(z*(2.0/17))))
	p8 := 2.0/19 + float64(z*(2.0/21)) + float64(z2*(2.0/23))
	series := float64(z * (p0 + float64(z4*(p4+float64(z4*p8)))))
	half := float64(f * f / 2)
	n := float64(k)
	return float64(n*ln2High) - (half - (float64(s*(half+series)) + float64(n*ln2Low)) - f)
}

// Logs replaces numbers by their Log.
func Logs(x []float64) { replace(x, true) }

// replace is Exps, or Logs. It calls no function by a variable: x would go to the heap.
func replace(x []float64, byLog bool) {
	for len(x) > 0 {
		var done int
		if byLog {
			done = 4 * logGroups(x)
		} else {
			done = 4 * expGroups(x)
		}
		if done > 0 {
			x = x[done:]
			continue
		}
		group := x[:min(4, len(x))]
		for i, value := range group {
			if byLog {
				group[i] = Log(value)
			} else {
				group[i] = Exp(value)
			}
		}
		x = x[len(group):]
	}
}

// Cos is the cosine of x to within 4e-15, for x between −π and π.
func Cos(x float64) float64 {
	square, cos := float64(x*x), 1.0
	for n := 30.0; n > 0; n -= 2 {
		cos = 1 - float64(square*cos)/(n*(n-1)) // the Taylor series, by Horner's rule
	}
	return cos
}

// Pow is x^n for n ≥ 0, to within an ulp a factor that n's binary digits make it of.
func Pow(x float64, n int) float64 {
	power := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			power *= x
		}
		x *= x
	}
	return power
}

// Sigmoid is 1/(1+e^−x).
func Sigmoid(x float64) float64 { return 1 / (1 + Exp(-x)) }
