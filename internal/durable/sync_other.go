//go:build !linux

package durable

import "os"

// SyncData makes the bytes written to a file durable.
func SyncData(f *os.File) error { return f.Sync() }
