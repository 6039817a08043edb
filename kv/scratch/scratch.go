// Package scratch keeps long arrays of numbers in files that are mapped into memory. They are read and written like
// slices, but the system can write their pages back and take the memory, so that an array that is walked in order costs
// a process next to nothing.
//
// Files are reserved on disk as they are made: a disk that is full shows as an error then, never later as a fault. Where
// a system has no such mappings, arrays are memory.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"
)

// A Number is what arrays hold.
type Number interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int32 | ~int64 | ~float32 | ~float64
}

// A Dir is a directory of arrays. The nil Dir keeps them in memory.
type Dir struct{ path string }

// Open makes the directory where it is not there.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fmt.Errorf("scratch directory: %w", err)
	}
	return &Dir{path: path}, nil
}

// Path is the directory's path.
func (d *Dir) Path() string { return d.path }

// An Array is a slice in a file.
type Array[T Number] struct {
	Data []T // [length]; not to be used after Close

	path   string
	mapped []byte
}

// New makes an array of zeros, in the file of a name, or in memory where d is nil. A file of that name is replaced.
func New[T Number](d *Dir, name string, length int) (*Array[T], error) {
	if d == nil || length == 0 {
		return &Array[T]{Data: make([]T, length)}, nil
	}
	path := filepath.Join(d.path, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("scratch array: %w", err)
	}
	var item T
	mapped, err := mapNew(path, int64(length)*int64(unsafe.Sizeof(item)))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("scratch array %s of %d numbers: %w", name, length, err), removeFile(path))
	}
	return view[T](path, mapped, length), nil
}

// Keep maps the array of a name as it was left: fs.ErrNotExist where there is none, or none of this length.
func Keep[T Number](d *Dir, name string, length int) (*Array[T], error) {
	if d == nil || length == 0 {
		return nil, fmt.Errorf("scratch array %s: %w", name, fs.ErrNotExist)
	}
	path := filepath.Join(d.path, name)
	var item T
	mapped, err := mapOld(path, int64(length)*int64(unsafe.Sizeof(item)))
	if err != nil {
		return nil, fmt.Errorf("scratch array %s: %w", name, err)
	}
	return view[T](path, mapped, length), nil
}

func view[T Number](path string, mapped []byte, length int) *Array[T] {
	return &Array[T]{Data: unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mapped))), length), path: path, mapped: mapped}
}

// Sync returns once what was written so far would survive a crash.
func (a *Array[T]) Sync() error {
	if a.mapped == nil {
		return nil
	}
	return syncMapped(a.path, a.mapped)
}

// Detach gives the memory back and leaves the file for Keep.
func (a *Array[T]) Detach() error {
	mapped := a.mapped
	a.Data, a.mapped = nil, nil
	return unmap(mapped)
}

// Close gives the memory back and removes the file. Closing twice is harmless.
func (a *Array[T]) Close() error {
	if a == nil {
		return nil
	}
	path := a.path
	a.path = ""
	return errors.Join(a.Detach(), removeFile(path))
}

func removeFile(path string) error {
	if path == "" {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
