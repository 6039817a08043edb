//go:build !amd64 || purego

package elementary

// expGroups does none: it is for processors with vectors.
func expGroups([]float64) (done int) { return 0 }
