// Package scratch keeps long arrays of numbers in files that are mapped into memory. They are read and written like
// slices, but the system can write their pages back and take the memory, so that an array that is walked in order costs
// a process next to nothing.
//
// Files are reserved on disk as they are made: a disk that is full shows as an error then, never later as a fault.
// Where a system has no such mappings, arrays are memory.
package scratch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/internal/mapped"
)

// A Number is an element of arrays.
type Number interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int32 | ~int64 | ~float32 | ~float64
}

// A Dir is a directory of arrays. The nil Dir keeps them in memory.
type Dir struct {
	path      string
	temporary bool
}

// Open makes the directory where it is not there.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fmt.Errorf("scratch directory: %w", err)
	}
	return &Dir{path: path}, nil
}

// Existing takes the directory as it is, and makes none: without one Keep and Get find nothing.
func Existing(path string) *Dir { return &Dir{path: path} }

// Temporary keeps arrays in a directory that is there, in files that lose their names as soon as they are mapped: they
// are gone with the process, however that ends. Names of arrays need not differ, and Keep finds none. Where a file that
// is open cannot be removed, it is by Close; it is named spill-*.tmp.
func Temporary(path string) *Dir { return &Dir{path: path, temporary: true} }

// Path is the directory's path.
func (d *Dir) Path() string { return d.path }

// Put writes a small file, durably and as a whole: after a crash Get finds the last that was put, or the one before.
func (d *Dir) Put(name string, body []byte) error {
	path, sum := filepath.Join(d.path, name), crc32c.Of(body)
	text := append(binary.LittleEndian.AppendUint32(nil, sum), body...)
	if err := durable.ReplaceFile(path, path+".tmp", text); err != nil {
		return fmt.Errorf("scratch file %s: %w", name, err)
	}
	return nil
}

// Get reads the bytes that Put wrote: fs.ErrNotExist where there is nothing, or nothing whole.
func (d *Dir) Get(name string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(d.path, name))
	if err != nil {
		return nil, fmt.Errorf("scratch file: %w", err)
	}
	if len(text) < 4 || crc32c.Of(text[4:]) != binary.LittleEndian.Uint32(text) {
		return nil, fmt.Errorf("scratch file %s is damaged: %w", name, fs.ErrNotExist)
	}
	return text[4:], nil
}

// An Array is a slice in a file.
type Array[T Number] struct {
	Data []T // [length]; not to be used after Close

	path      string
	temporary bool
	mapping   []byte
}

// New makes an array of zeros, in the file of a name, or in memory where d is nil. A file of that name is replaced.
func New[T Number](d *Dir, name string, length int) (*Array[T], error) {
	if d == nil || length == 0 {
		return &Array[T]{Data: make([]T, length)}, nil
	}
	path, err := d.claim(name)
	if err != nil {
		return nil, fmt.Errorf("scratch array: %w", err)
	}
	var item T
	mapping, err := mapNew(path, int64(length)*int64(unsafe.Sizeof(item)))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("scratch array %s of %d numbers: %w", name, length, err), removeFile(path))
	}
	a := view[T](path, mapping, length)
	if a.temporary = d.temporary; d.temporary && os.Remove(path) == nil {
		a.path = ""
	}
	return a, nil
}

// claim returns a path where there is no file.
func (d *Dir) claim(name string) (string, error) {
	if !d.temporary {
		path := filepath.Join(d.path, name)
		return path, removeFile(path)
	}
	file, err := os.CreateTemp(d.path, "spill-"+name+"-*.tmp")
	if err != nil {
		return "", err
	}
	return file.Name(), errors.Join(file.Close(), os.Remove(file.Name()))
}

// Keep maps the array of a name as it was left, to go on writing to it, or only to read it: then writing to it is a
// fault that ends the process. It returns fs.ErrNotExist where there is none, none of this length, or none that may be
// used so. A file to write to is reserved on disk again, since a copy may have left holes.
func Keep[T Number](d *Dir, name string, length int, toWrite bool) (*Array[T], error) {
	if d == nil || d.temporary || length == 0 {
		return nil, fmt.Errorf("scratch array %s: %w", name, fs.ErrNotExist)
	}
	path := filepath.Join(d.path, name)
	var item T
	mapping, err := mapOld(path, int64(length)*int64(unsafe.Sizeof(item)), toWrite)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	if err != nil {
		return nil, fmt.Errorf("scratch array %s: %w", name, err)
	}
	return view[T](path, mapping, length), nil
}

func view[T Number](path string, mapping []byte, length int) *Array[T] {
	data := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mapping))), length)
	return &Array[T]{Data: data, path: path, mapping: mapping}
}

// Sync returns once the bytes written so far would survive a crash.
func (a *Array[T]) Sync() error {
	if a.mapping == nil || a.temporary {
		return nil
	}
	return syncMapping(a.path, a.mapping)
}

// WillRead asks the system to read the numbers from first to end, which are read next, and no others. Where many places
// of a mapped file are read in turn, the system would else read far ahead at each, and drop what it has read before it
// is used.
func (a *Array[T]) WillRead(first, end int) {
	if a.mapping != nil && first < end {
		var item T
		mapped.WillRead(a.mapping, first*int(unsafe.Sizeof(item)), end*int(unsafe.Sizeof(item)))
	}
}

// Detach gives the memory back and leaves the file for Keep, unless it is temporary. Detaching twice is harmless.
func (a *Array[T]) Detach() error {
	if a == nil {
		return nil
	}
	if a.temporary {
		return a.Close()
	}
	return a.unmap()
}

// Close gives the memory back and removes the file. Closing twice is harmless, and so is closing what is detached: the
// file is removed then as well.
func (a *Array[T]) Close() error {
	if a == nil {
		return nil
	}
	path := a.path
	a.path = ""
	return errors.Join(a.unmap(), removeFile(path))
}

func (a *Array[T]) unmap() error {
	mapping := a.mapping
	a.Data, a.mapping = nil, nil
	return unmap(mapping)
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
