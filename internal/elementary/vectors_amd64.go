//go:build !purego

package elementary

import (
	"golang.org/x/sys/cpu"

	"github.com/graphcleaner/graphcleaner/internal/processor"
)

// What kernels the processor has; tests turn them off.
var (
	vectorized = cpu.X86.HasAVX2
	hasAVX512  = processor.HasAVX512
)

// expVectors is Exp of groups of four numbers, in place. It ends at the first group with a number that is none or
// beyond ±700, and returns how many it has done. Products and sums are rounded one by one: the bits are those of Exp.
//
//go:noescape
func expVectors(x *float64, groups int) (done int)

// expWide is expVectors of groups of eight.
//
//go:noescape
func expWide(x *float64, groups int) (done int)

// logVectors is Log of groups of four numbers, in place. It ends at the first group with a number that is not normal,
// or not positive, and returns how many it has done. The bits are those of Log.
//
//go:noescape
func logVectors(x *float64, groups int) (done int)

// logWide is logVectors of groups of eight.
//
//go:noescape
func logWide(x *float64, groups int) (done int)

// expGroups is Exp of groups of four numbers, as expVectors. It may end at any group.
func expGroups(x []float64) (done int) {
	if hasAVX512 && len(x) >= 8 {
		if done = 2 * expWide(&x[0], len(x)/8); done > 0 {
			return done
		}
	}
	if !vectorized || len(x) < 4 {
		return 0
	}
	return expVectors(&x[0], len(x)/4)
}

// logGroups is Log of groups of four numbers, as logVectors. It may end at any group.
func logGroups(x []float64) (done int) {
	if hasAVX512 && len(x) >= 8 {
		if done = 2 * logWide(&x[0], len(x)/8); done > 0 {
			return done
		}
	}
	if !vectorized || len(x) < 4 {
		return 0
	}
	return logVectors(&x[0], len(x)/4)
}
