//go:build !linux

package pack

// tellsCached says whether the system tells which parts of a file are in memory: not here.
func tellsCached(string) bool { return false }

// isCached says whether a part of a mapped file is in memory.
func isCached([]byte, int, int) bool { return false }
