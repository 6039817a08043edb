package storedir

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"sync"

	"golang.org/x/sys/windows"

	"github.com/graphcleaner/graphcleaner/internal/realpath"
)

// Lock takes the lock on a directory, the same for reading and for writing; an ErrLocked if another holds it.
// Directories have no locks here, so it is a mutex of the system that is named after the path. Lock returns the
// absolute path of the directory, the one by which its files are opened. A file that has no place in a store is an
// ErrForeignFile. Calling unlock again does nothing.
func Lock(dir string, shared bool) (path string, unlock func() error, err error) {
	if path, err = realpath.Of(dir); err != nil {
		return "", nil, err
	}
	name := fmt.Sprintf(`Global\graphcleaner-%x`, sha256.Sum256([]byte(strings.ToLower(path))))
	text, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return "", nil, err
	}
	mutex, err := windows.CreateMutex(nil, false, text)
	unlock = sync.OnceValue(func() error { return windows.CloseHandle(mutex) })
	if errors.Is(err, windows.ERROR_ALREADY_EXISTS) {
		return "", nil, errors.Join(lockedError(dir), unlock())
	}
	if err != nil {
		return "", nil, &fs.PathError{Op: "lock", Path: dir, Err: err}
	}
	if err := checkFileTypes(path, dir, shared); err != nil {
		return "", nil, errors.Join(err, unlock())
	}
	return path, unlock, nil
}

// FreeBytes is not known here: a full disk is met when it is written to.
func FreeBytes(string) (int64, error) { return math.MaxInt64, nil }

// AllocatedBytes is the size of a file.
func AllocatedBytes(info fs.FileInfo) int64 { return info.Size() }

// links does not look for other names of a file.
func links(fs.FileInfo) uint64 { return 1 }

// number is not known here.
func number(fs.FileInfo) uint64 { return 0 }

// Writable leaves it to the first write to find out.
func Writable(string) error { return nil }
