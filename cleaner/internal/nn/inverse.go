package nn

import (
	"math"
)

// factor makes of a symmetric matrix its Cholesky factor, in the lower triangle.
func factor(a []float64, d, workers int) {
	for at := 0; at < d; at += triangleRows {
		end := min(at+triangleRows, d)
		for i := at; i < end; i++ {
			row := a[i*d:]
			for j := at; j <= i; j++ {
				sum := row[j] - dot(row[:j], a[j*d:])
				if j < i {
					row[j] = sum / a[j*d+j]
				} else {
					row[i] = math.Sqrt(max(sum, ridgePenalty/2.))
				}
			}
		}
		share(workers, (d-end)*triangleRows*at, d-end, func(_, from, to int) {
			for i := end + from; i < end+to; i++ {
				row := a[i*d:]
				for j := at; j < end; j++ {
					row[j] = (row[j] - dot(row[:j], a[j*d:])) / a[j*d+j]
				}
			}
		})
	}
}

// invert makes of a lower triangle its inverse.
func invert(a []float64, d, workers int) {
	// Row i of the inverse is −(Σ_{j<i} a_ij row_j)/a_ii, and 1/a_ii on the diagonal. Rows of a block take the rows
	// above it together.
	sums := make([]float64, triangleRows*d)
	for at := 0; at < d; at += triangleRows {
		end := min(at+triangleRows, d)
		share(workers, (end-at)*at*at, at, func(_, from, to int) {
			for i := range end - at {
				clear(sums[i*d:][from:to])
			}
			for j := from; j < at; j++ {
				row := a[j*d:][from:min(j+1, to)]
				for i := at; i < end; i++ {
					addTimes(sums[(i-at)*d+from:], a[i*d+j], row)
				}
			}
		})
		for i := at; i < end; i++ {
			row, own := a[i*d:][:i+1], sums[(i-at)*d:][:i]
			clear(own[at:])
			for j := at; j < i; j++ {
				addTimes(own, row[j], a[j*d:][:j+1])
			}
			for j, sum := range own {
				row[j] = -sum / row[i]
			}
			row[i] = 1 / row[i]
		}
	}
}

// addTimes adds x times y to as many sums.
func addTimes(sums []float64, x float64, y []float64) {
	sums = sums[:len(y)]
	for l, value := range y {
		sums[l] += float64(x * value)
	}
}

// dot is the sum of the products of x and of as many of y.
func dot(x, y []float64) float64 {
	var a, b, c, d float64
	y = y[:len(x)]
	i := 0
	for ; i+4 <= len(x); i += 4 {
		a += float64(x[i] * y[i])
		b += float64(x[i+1] * y[i+1])
		c += float64(x[i+2] * y[i+2])
		d += float64(x[i+3] * y[i+3])
	}
	for ; i < len(x); i++ {
		a += float64(x[i] * y[i])
	}
	return a + b + (c + d)
}
