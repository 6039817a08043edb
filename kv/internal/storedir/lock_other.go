//go:build !linux && !darwin

package storedir

import (
	"io/fs"
	"math"

	"github.com/graphcleaner/graphcleaner/internal/realpath"
)

// HasLocks says whether directories have locks. If they have none Badger takes one of its own, and a store that
// is in use is an error in its words.
const HasLocks = false

// Lock takes no lock here. It returns the absolute path of the directory, the one by which its files are opened. A file
// that has no place in a store is an ErrForeignFile.
func Lock(dir string, shared bool) (path string, unlock func() error, err error) {
	if path, err = realpath.Of(dir); err != nil {
		return "", nil, err
	}
	return path, func() error { return nil }, checkFileTypes(path, dir, shared)
}

// FreeBytes is not known here: a full disk is met when it is written to.
func FreeBytes(string) (int64, error) { return math.MaxInt64, nil }

// AllocatedBytes is the size of a file.
func AllocatedBytes(info fs.FileInfo) int64 { return info.Size() }

// links does not look for other names of a file.
func links(fs.FileInfo) uint64 { return 1 }

// number is not known here.
func number(fs.FileInfo) uint64 { return 0 }

// Writable leaves it to Badger to find out.
func Writable(string) error { return nil }
