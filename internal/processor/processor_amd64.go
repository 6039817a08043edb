// Package processor says which vector instructions kernels may use. It knows nothing of the kernels.
package processor

import "golang.org/x/sys/cpu"

// HasAVX512 tells whether kernels may use vectors of 512 bits, and BMI2 beside them. No kernel needs VBMI2: it is asked
// for because older processors, those without it, lower their clock for such vectors. GODEBUG=cpu.avx512=off clears
// cpu.X86.HasAVX512 alone.
var HasAVX512 = cpu.X86.HasAVX512 && cpu.X86.HasAVX2 && cpu.X86.HasBMI2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ &&
	cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512VBMI2
