package labelmodel

import "math"

// solveByCholesky solves a x = b, in place of b [n], where a [n×n] is symmetric. Of a the lower triangle is read, and
// becomes its Cholesky factor. It is false where a is not positive definite.
func solveByCholesky(a [][]float64, b []float64) bool {
	for i, row := range a {
		for j := range i + 1 {
			sum := row[j]
			for l := range j {
				sum -= float64(row[l] * a[j][l])
			}
			if j < i {
				row[j] = sum / a[j][j]
			} else if row[i] = math.Sqrt(sum); !(row[i] > 0) {
				return false
			}
		}
	}
	for i, row := range a {
		for l := range i {
			b[i] -= float64(row[l] * b[l])
		}
		b[i] /= row[i]
	}
	for i := len(a) - 1; i >= 0; i-- {
		for l := i + 1; l < len(a); l++ {
			b[i] -= float64(a[l][i] * b[l])
		}
		b[i] /= a[i][i]
	}
	return true
}
