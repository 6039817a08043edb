//go:build !linux

package durable

import (
	"errors"
	"os"
)

// SyncData makes what was written to a file durable.
func SyncData(f *os.File) error { return f.Sync() }

// Reserve is for systems on which a part of a file can be given a place on the disk before it is written.
func Reserve(*os.File, int64, int64) error { return errors.ErrUnsupported }
