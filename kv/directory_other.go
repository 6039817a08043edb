//go:build !linux && !darwin

package kv

import (
	"io/fs"
	"math"
	"os"
)

// locksDirectories says whether directories have locks. Where they have none Badger takes one of its own, and a store that
// is in use is an error in its words.
const locksDirectories = false

// lockDirectory takes no lock here.
func lockDirectory(string, bool) (unlock func() error, err error) {
	return func() error { return nil }, nil
}

// freeBytes is not known here: a full disk is met when it is written to.
func freeBytes(string) (int64, error) { return math.MaxInt64, nil }

func allocatedBytes(info fs.FileInfo) int64 { return info.Size() }

// markTable returns the mark of a table's file.
func markTable(path string) (tableMark, error) {
	info, err := os.Stat(path)
	if err != nil {
		return tableMark{}, err
	}
	return tableMark{Size: info.Size(), Modified: info.ModTime().UnixNano()}, nil
}

// writable leaves it to Badger to find out.
func writable(string) error { return nil }
