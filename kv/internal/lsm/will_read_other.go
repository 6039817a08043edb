//go:build !linux && !darwin

package lsm

// willRead asks the system to read a part of a mapped file soon: not here.
func willRead([]byte, int, int) {}
