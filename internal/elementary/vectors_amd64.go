//go:build !purego

package elementary

import "golang.org/x/sys/cpu"

// What kernels the processor has; tests turn them off. No kernel needs VBMI2: it is asked for because older processors,
// those without it, lower their clock for vectors of 512 bits. GODEBUG=cpu.avx512=off clears cpu.X86.HasAVX512 alone.
var (
	vectorized = cpu.X86.HasAVX2
	hasAVX512  = cpu.X86.HasAVX512 && cpu.X86.HasAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ &&
		cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512VBMI2
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
