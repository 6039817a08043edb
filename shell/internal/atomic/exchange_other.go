//go:build !linux

package atomic

// exchange exchanges two directories of one file system.
func exchange(a, b string) error { return exchangeByRenames(a, b) }
