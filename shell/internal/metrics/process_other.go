//go:build !linux

package metrics

// Resident is how much memory the process holds in bytes, or false if the system does not say.
func Resident() (bytes float64, ok bool) { return 0, false }
