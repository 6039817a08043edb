//go:build !linux && !darwin

package mapped

// WillRead asks the system to read a part of a mapped file soon: not here.
func WillRead([]byte, int, int) {}
