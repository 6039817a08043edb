package query

import (
	"encoding/binary"
	"math"
	"math/big"
)

// An exactSum adds numbers without rounding. So the sum does not depend on the order of the numbers, nor on which of them were added up
// before. The parts of a sum do not overlap, and so they are few (Shewchuk, Adaptive Precision Floating-Point Arithmetic, 1997).
type exactSum struct {
	parts    []float64
	huge     []float64 // parts of numbers from hugeNumber on, times 2^-hugeShift
	infinite float64   // the sum of infinite numbers, 0 if there are none
}

// Numbers that large are added up by themselves and made smaller, so that no sum of them leaves the range of a number.
const (
	hugeNumber = 0x1p900
	hugeShift  = 200
)

// exactBits hold any sum: numbers have bits from 2^-1074 to 2^1023, and fewer than 2^63 are added.
const exactBits = 2200

// addInt adds an integer, in two halves that are numbers without rounding.
func (s *exactSum) addInt(n int64) {
	s.add(float64(n>>32) * (1 << 32))
	s.add(float64(n & math.MaxUint32))
}

func (s *exactSum) add(x float64) {
	switch {
	case math.IsInf(x, 0) || math.IsNaN(x):
		s.infinite += x
	case math.Abs(x) >= hugeNumber:
		s.huge = addPart(s.huge, math.Ldexp(x, -hugeShift))
	default:
		s.parts = addPart(s.parts, x)
	}
}

// addPart adds a number to parts that do not overlap, and keeps that so.
func addPart(parts []float64, x float64) []float64 {
	kept := parts[:0]
	for _, y := range parts {
		if math.Abs(x) < math.Abs(y) {
			x, y = y, x
		}
		sum := x + y
		if rest := y - (sum - x); rest != 0 {
			kept = append(kept, rest)
		}
		x = sum
	}
	if x != 0 {
		kept = append(kept, x)
	}
	return kept
}

// total is the sum, not rounded. It has a meaning if infinite is 0.
func (s *exactSum) total() *big.Float {
	total := new(big.Float).SetPrec(exactBits)
	for _, x := range s.huge {
		total.Add(total, big.NewFloat(x))
	}
	total.SetMantExp(total, hugeShift)
	for _, x := range s.parts {
		total.Add(total, big.NewFloat(x))
	}
	return total
}

// float is the number nearest to the sum, NaN if infinite numbers of both signs are in it.
func (s *exactSum) float() float64 {
	if s.infinite != 0 {
		return s.infinite
	}
	x, _ := s.total().Float64()
	return x
}

// mean is the number nearest to the sum divided by n.
func (s *exactSum) mean(n int64) float64 {
	if s.infinite != 0 {
		return s.infinite
	}
	total := s.total()
	x, _ := total.Quo(total, new(big.Float).SetInt64(n)).Float64()
	return x
}

// integer is the sum of integers; fits is false if it is beyond the range of an integer.
func (s *exactSum) integer() (n int64, fits bool) {
	n, accuracy := s.total().Int64()
	return n, accuracy == big.Exact
}

// appendTo appends the sum in a form that addFrom reads.
func (s *exactSum) appendTo(b []byte) []byte {
	for _, parts := range [][]float64{s.parts, s.huge, {s.infinite}} {
		b = binary.AppendUvarint(b, uint64(len(parts)))
		for _, x := range parts {
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(x))
		}
	}
	return b
}

// addFrom adds a sum that appendTo has written. It returns what follows.
func (s *exactSum) addFrom(b []byte) (rest []byte) {
	for kind := range 3 {
		count, size := binary.Uvarint(b)
		b = b[size:]
		for range count {
			x := math.Float64frombits(binary.BigEndian.Uint64(b))
			b = b[8:]
			switch kind {
			case 0:
				s.parts = addPart(s.parts, x)
			case 1:
				s.huge = addPart(s.huge, x)
			default:
				s.infinite += x
			}
		}
	}
	return b
}
