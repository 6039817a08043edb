// Package processor says which vector instructions kernels may use. It knows nothing of the kernels.
package processor

import "golang.org/x/sys/cpu"

// HasAVX512 tells whether kernels may use vectors of 512 bits, and BMI2 beside them. Older processors, those without VBMI2, lower their
// clock for such vectors.
var HasAVX512 = cpu.X86.HasAVX2 && cpu.X86.HasBMI2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW &&
	cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512VBMI2
