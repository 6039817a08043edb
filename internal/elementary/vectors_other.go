//go:build !amd64 || purego

package elementary

// These do none: they are for processors with vectors.
func expGroups([]float64) (done int) { return 0 }
func logGroups([]float64) (done int) { return 0 }
