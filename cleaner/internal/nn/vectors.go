package nn

import (
	"math"
	"math/rand/v2"
	"slices"
)

// dropRun is how many values draw from a generator of their own, so that workers share them.
const dropRun = 4096

// drop multiplies a run of values by zero where their random byte is below bound, and else by scale; factors, if not
// nil, gets the factor of each. The bytes are the numbers of rand.NewPCG(seed, run), little end first.
func drop(values, factors []float32, seed, run uint64, bound uint32, scale float32) {
	random := rand.NewPCG(seed, run)
	var bytes uint64
	for i := range values {
		if i%8 == 0 {
			bytes = random.Uint64()
		}
		factor := scale
		if uint32(byte(bytes>>(i%8*8))) < bound {
			factor = 0
		}
		values[i] *= factor
		if factors != nil {
			factors[i] = factor
		}
	}
}

// relu sets negative numbers to zero.
func relu(h []float32) {
	for i, value := range h {
		h[i] = max(value, 0)
	}
}

// mask multiplies down by scale, if it is not nil, and sets it to zero where h is off, or dropped.
func mask(down, scale, h []float32) {
	for i := range down {
		if scale != nil {
			down[i] *= scale[i]
		}
		bits := int32(math.Float32bits(h[i]))
		on := uint32(-bits&^bits) >> 31 // 1 if h > 0, without a branch
		down[i] = math.Float32frombits(math.Float32bits(down[i]) & -on)
	}
}

// sumColumns adds up rows of as many numbers as sums, row by row.
func sumColumns(sums, rows []float32) {
	for row := range slices.Chunk(rows, len(sums)) {
		for j, value := range row {
			sums[j] += value
		}
	}
}
