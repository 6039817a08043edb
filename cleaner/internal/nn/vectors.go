package nn

import (
	"math"
	"slices"
)

// An adamStep are the constants of a step of Adam.
type adamStep struct {
	beta1, rest1 float32 // of the first moment, and 1 − beta1
	beta2, rest2 float32
	rate, shrink float32
	epsilon      float32
}

// takePlainly moves parameters p and their moments along the gradient.
func (s *adamStep) takePlainly(p, mean, square, gradient []float32) {
	for i := range p {
		g := gradient[i]
		mean[i] = float32(s.beta1*mean[i]) + float32(s.rest1*g)
		square[i] = float32(s.beta2*square[i]) + float32(float32(s.rest2*g)*g)
		p[i] = float32(p[i]*s.shrink) - s.rate*mean[i]/(float32(math.Sqrt(float64(square[i])))+s.epsilon)
	}
}

// dropPlainly multiplies values by zero where their random number is below bound, and else by scale; factors, if not nil, gets what each was
// multiplied by.
func dropPlainly(values, factors []float32, random []byte, bound uint32, scale float32) {
	bits := math.Float32bits(scale)
	for i, value := range values {
		mask := uint32(int32(uint32(random[i])-bound) >> 31) // all bits or none, without a branch
		factor := math.Float32frombits(bits &^ mask)
		values[i] = value * factor
		if factors != nil {
			factors[i] = factor
		}
	}
}

// behind are the numbers from at on; nil stays nil.
func behind(numbers []float32, at int) []float32 {
	if numbers == nil {
		return nil
	}
	return numbers[at:]
}

// reluPlainly sets negative numbers to zero.
func reluPlainly(h []float32) {
	for i, value := range h {
		h[i] = max(value, 0)
	}
}

// maskPlainly multiplies down by scale, if it is not nil, and sets it to zero where h is off, or dropped.
func maskPlainly(down, scale, h []float32) {
	for i := range down {
		if scale != nil {
			down[i] *= scale[i]
		}
		bits := int32(math.Float32bits(h[i]))
		on := uint32(-bits&^bits) >> 31 // 1 if h > 0, without a branch
		down[i] = math.Float32frombits(math.Float32bits(down[i]) & -on)
	}
}

// subtractLargestPlainly subtracts from the numbers of each row, of so many, the largest of them.
func subtractLargestPlainly(values []float32, width int) {
	for row := range slices.Chunk(values, width) {
		largest := slices.Max(row)
		for i := range row {
			row[i] -= largest
		}
	}
}

// widenPlainly writes to widened [values] the values as float64.
func widenPlainly(widened []float64, values []float32) {
	for i, value := range values {
		widened[i] = float64(value)
	}
}

// sumColumnsPlainly adds to sums the first numbers of rows, which have so many, row by row.
func sumColumnsPlainly(sums, rows []float32, width int) {
	for row := range slices.Chunk(rows, width) {
		for j, value := range row[:len(sums)] {
			sums[j] += value
		}
	}
}

// roundPlainly writes to rounded [values] the values as float32.
func roundPlainly(rounded []float32, values []float64) {
	for i, value := range values {
		rounded[i] = float32(value)
	}
}

// dividePlainly divides values by a number in float64. By one that is a float32, the quotients are those of float32: their 53 digits do not come
// so near to the middle between two numbers of 24 digits that rounding twice makes a difference.
func dividePlainly(values []float32, by float64) {
	for i, value := range values {
		values[i] = float32(float64(value) / by)
	}
}

// transposePlainly writes the columns of from [rows×columns], whose rows are so far apart, as rows to to, stride apart.
func transposePlainly(to []float32, stride int, from []float32, apart, rows, columns int) {
	for r := range rows {
		for j, value := range from[r*apart:][:columns] {
			to[j*stride+r] = value
		}
	}
}

// countNonzeroPlainly is CountNonzero.
func countNonzeroPlainly(row []float32) (count int) {
	for _, value := range row {
		count += isNotZero(value)
	}
	return count
}

// compressSpare are numbers behind those that compress writes, which it may change.
const compressSpare = 8

// compressPlainly writes the numbers of row that are not zero, and their columns, of which the first is given. It returns how many there are.
func compressPlainly(columns []uint32, values, row []float32, first int) (count int) {
	for k, value := range row {
		columns[count], values[count] = uint32(first+k), value
		count += isNotZero(value)
	}
	return count
}
