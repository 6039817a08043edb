//go:build !linux

package memdir

const memory = ""

func room() int64 { return 0 }
