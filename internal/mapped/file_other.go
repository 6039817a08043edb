//go:build !linux

package mapped

// fileAt is not known here.
func fileAt(uintptr) string { return "" }
