// Package float32s has what is done with slices of float32 of any kind. It knows nothing of what they mean.
package float32s

// Resize returns s with length n, keeping its memory where it can.
func Resize(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

// AllFinite reports whether no value is NaN or infinite.
func AllFinite(row []float32) bool {
	for _, value := range row {
		if value-value != 0 { // NaN and the infinities
			return false
		}
	}
	return true
}
