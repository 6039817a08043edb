package ops

import "github.com/graphcleaner/graphcleaner/kv"

// run is how many neighbours are walked for one group of columns before the next group takes its turn over the
// same rows, which are then still in the cache.
const run = 256

// stride is the length of a tile's row for width columns: whole groups of four, except for the narrowest.
func stride(width int) int {
	if width <= 2 {
		return width
	}
	return (width + 3) &^ 3
}

// addRows adds to sums [w] the rows of tile [n×w] that neighbors names, each column by itself, in the order of
// neighbors and in float64.
func addRows(sums []float64, tile []float32, neighbors []kv.NodeID) {
	width := len(sums)
	for len(neighbors) > 0 {
		part := neighbors[:min(run, len(neighbors))]
		neighbors = neighbors[len(part):]
		j := 0
		for ; j+8 <= width; j += 8 {
			add8((*[8]float64)(sums[j:]), tile, part, width, j)
		}
		if j+4 <= width {
			add4((*[4]float64)(sums[j:]), tile, part, width, j)
			j += 4
		}
		for ; j < width; j++ {
			sum := sums[j]
			for _, u := range part {
				sum += float64(tile[int(u)*width+j])
			}
			sums[j] = sum
		}
	}
}

// add8 keeps its eight sums in registers.
func add8(sums *[8]float64, tile []float32, neighbors []kv.NodeID, width, column int) {
	s0, s1, s2, s3, s4, s5, s6, s7 := sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]
	for _, u := range neighbors {
		row := (*[8]float32)(tile[int(u)*width+column:])
		s0 += float64(row[0])
		s1 += float64(row[1])
		s2 += float64(row[2])
		s3 += float64(row[3])
		s4 += float64(row[4])
		s5 += float64(row[5])
		s6 += float64(row[6])
		s7 += float64(row[7])
	}
	sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7] = s0, s1, s2, s3, s4, s5, s6, s7
}

func add4(sums *[4]float64, tile []float32, neighbors []kv.NodeID, width, column int) {
	s0, s1, s2, s3 := sums[0], sums[1], sums[2], sums[3]
	for _, u := range neighbors {
		row := (*[4]float32)(tile[int(u)*width+column:])
		s0 += float64(row[0])
		s1 += float64(row[1])
		s2 += float64(row[2])
		s3 += float64(row[3])
	}
	sums[0], sums[1], sums[2], sums[3] = s0, s1, s2, s3
}
