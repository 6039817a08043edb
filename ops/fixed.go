package ops

import (
	"math"
	"sync/atomic"
)

// fixedUnit is the number of units in 1. Sums of units are exact, whatever their order, so that workers may add to one
// node in any order. A return probability is at most 1 and its units fit 63 bits; what overflows on the way comes back.
// Each term is rounded by at most 2^-63, so that even 10^9 of them are off by less than 1.1e-10, and by far
// less as they fall on both sides.
const fixedUnit = 1 << 62

func toUnits(x float64) int64 { return int64(math.RoundToEven(x * fixedUnit)) }

// fixedSums are sums [n] that many goroutines may add to.
type fixedSums []uint64

func (s fixedSums) add(i rank, units int64) {
	if units != 0 {
		atomic.AddUint64(&s[i], uint64(units))
	}
}

// at must not run beside add.
func (s fixedSums) at(i rank) float64 { return float64(int64(s[i])) / fixedUnit }
