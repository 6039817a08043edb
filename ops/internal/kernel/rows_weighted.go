package kernel

import "github.com/graphcleaner/graphcleaner/kv"

// ones are the weights of neighbours without one: a product with them is exact.
var ones = func() (ones [Run]float32) {
	for i := range ones {
		ones[i] = 1
	}
	return ones
}()

// addRowsPlainly does what AddRows does, in Go. The product of two float32 is exact in float64: a processor that fuses
// it with the sum gets the same bits.
func addRowsPlainly(sums []float64, rows Slab, column int, neighbors []kv.NodeID, weights []float32) {
	if weights == nil && len(sums) < GroupColumns { // such rows have no kernel in assembly
		for j, sum := range sums {
			for _, u := range neighbors {
				sum += float64(rows.Values[int(u-rows.First)*rows.Stride+column+j])
			}
			sums[j] = sum
		}
		return
	}
	for len(neighbors) > 0 {
		part := neighbors[:min(Run, len(neighbors))]
		neighbors = neighbors[len(part):]
		of := ones[:len(part)]
		if weights != nil {
			of, weights = weights[:len(part)], weights[len(part):]
		}
		j := 0
		for ; j+8 <= len(sums); j += 8 {
			addWeighted8((*[8]float64)(sums[j:]), rows, column+j, part, of)
		}
		for ; j+GroupColumns <= len(sums); j += GroupColumns {
			addWeighted4((*[4]float64)(sums[j:]), rows, column+j, part, of)
		}
		for ; j < len(sums); j++ {
			sum := sums[j]
			for i, u := range part {
				sum += float64(of[i]) * float64(rows.Values[int(u-rows.First)*rows.Stride+column+j])
			}
			sums[j] = sum
		}
	}
}

// addWeighted8 keeps its eight sums in registers.
func addWeighted8(sums *[8]float64, rows Slab, column int, neighbors []kv.NodeID, weights []float32) {
	s0, s1, s2, s3, s4, s5, s6, s7 := sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]
	for i, u := range neighbors {
		row := (*[8]float32)(rows.Values[int(u-rows.First)*rows.Stride+column:])
		w := float64(weights[i])
		s0 += w * float64(row[0])
		s1 += w * float64(row[1])
		s2 += w * float64(row[2])
		s3 += w * float64(row[3])
		s4 += w * float64(row[4])
		s5 += w * float64(row[5])
		s6 += w * float64(row[6])
		s7 += w * float64(row[7])
	}
	sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7] = s0, s1, s2, s3, s4, s5, s6, s7
}

func addWeighted4(sums *[4]float64, rows Slab, column int, neighbors []kv.NodeID, weights []float32) {
	s0, s1, s2, s3 := sums[0], sums[1], sums[2], sums[3]
	for i, u := range neighbors {
		row := (*[4]float32)(rows.Values[int(u-rows.First)*rows.Stride+column:])
		w := float64(weights[i])
		s0 += w * float64(row[0])
		s1 += w * float64(row[1])
		s2 += w * float64(row[2])
		s3 += w * float64(row[3])
	}
	sums[0], sums[1], sums[2], sums[3] = s0, s1, s2, s3
}

// addMarksPlainly does what AddMarks does, in Go.
func addMarksPlainly(sums []float64, marks []Mark, first kv.NodeID, neighbors []kv.NodeID, weights []float32) {
	for i, u := range neighbors {
		m, w := marks[u-first], 1.0
		if weights != nil {
			w = float64(weights[i])
		}
		sums[m.Column] += w * float64(m.Scale)
	}
}
