package ops

import (
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
)

// fixedUnit is the number of units in 1. Sums of units are exact, whatever their order, so that workers may add to one
// node in any order. A return probability is at most 1 and its units fit 63 bits; what overflows on the way comes back.
// Each term is rounded by at most 2^-63, so that even 10^9 of them are off by less than 1.1e-10, and by far
// less as they fall on both sides.
const fixedUnit = 1 << 62

// roundUnits rounds units that are not negative.
func roundUnits(x float64) int64 { return int64(x + 0.5) }

// fixedSums are sums [n] that many goroutines may add to. Most of what is added goes to the first ranks, the hubs:
// every worker has sums of its own for them.
type fixedSums struct {
	common offheap.Array[uint64]
	near   [][]uint64 // a slice a worker, of the first ranks
}

func newFixedSums(n, near, workers int) (*fixedSums, error) {
	common, err := offheap.New[uint64](n)
	if err != nil {
		return nil, err
	}
	s := &fixedSums{common: common, near: make([][]uint64, workers)}
	for i := range s.near {
		s.near[i] = make([]uint64, near)
	}
	return s, nil
}

func (s *fixedSums) free() error { return s.common.Free() }

func (s *fixedSums) add(worker int, i rank, units int64) {
	if near := s.near[worker]; int(i) < len(near) {
		near[i] += uint64(units)
	} else if units != 0 {
		atomic.AddUint64(&s.common.Data[i], uint64(units))
	}
}

// settle makes at good for every rank. It must not run beside add.
func (s *fixedSums) settle() {
	for _, near := range s.near {
		for i, units := range near {
			s.common.Data[i] += units
		}
		clear(near)
	}
}

// at must not run beside add, and wants settle before it.
func (s *fixedSums) at(i rank) float64 { return float64(float64(int64(s.common.Data[i])) / fixedUnit) }
