package query

import (
	"encoding/binary"
	"math"
	"math/big"
)

// An exactSum adds numbers without rounding. So the sum does not depend on the order of the numbers, nor on the goroutines that added
// some of them up.
type exactSum struct {
	finite   big.Float
	infinite float64 // the sum of infinite numbers, 0 if there are none
	term     big.Float
}

// exactBits hold any sum: numbers have bits from 2^-1074 to 2^1023, and fewer than 2^63 are added.
const exactBits = 2200

func newExactSum() *exactSum {
	s := &exactSum{}
	s.finite.SetPrec(exactBits)
	s.term.SetPrec(64)
	return s
}

func (s *exactSum) addInt(n int64) { s.finite.Add(&s.finite, s.term.SetInt64(n)) }

func (s *exactSum) add(x float64) {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		s.infinite += x
		return
	}
	s.finite.Add(&s.finite, s.term.SetFloat64(x))
}

// float is the number nearest to the sum, NaN if infinite numbers of both signs are in it.
func (s *exactSum) float() float64 { return s.mean(1) }

// mean is the number nearest to the sum divided by n.
func (s *exactSum) mean(n int64) float64 {
	if s.infinite != 0 {
		return s.infinite
	}
	mean := new(big.Float).SetPrec(exactBits)
	x, _ := mean.Quo(&s.finite, new(big.Float).SetInt64(n)).Float64()
	return x
}

// integer is the sum of integers; fits is false if it is beyond the range of an integer.
func (s *exactSum) integer() (n int64, fits bool) {
	n, accuracy := s.finite.Int64()
	return n, accuracy == big.Exact
}

// appendTo appends the sum in a form that addFrom reads.
func (s *exactSum) appendTo(b []byte) ([]byte, error) {
	finite, err := s.finite.GobEncode()
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(s.infinite))
	return append(binary.AppendUvarint(b, uint64(len(finite))), finite...), err
}

// addFrom adds a sum that appendTo has written. It returns the bytes behind it.
func (s *exactSum) addFrom(b []byte) (rest []byte, err error) {
	s.infinite += math.Float64frombits(binary.BigEndian.Uint64(b))
	length, size := binary.Uvarint(b[8:])
	b = b[8+size:]
	var finite big.Float
	err = finite.GobDecode(b[:length])
	s.finite.Add(&s.finite, &finite)
	return b[length:], err
}
