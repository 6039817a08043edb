//go:build linux || darwin

package scratch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// mapNew makes a file of zeros whose every block is on disk, and maps it.
func mapNew(path string, size int64) (mapping []byte, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := reserve(f, size); err != nil {
		return nil, fmt.Errorf("%s needs %d bytes on disk: %w", path, size, err)
	}
	return unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// mapOld maps a file that is there, which must have a size. If it is to be written to, its blocks are reserved again.
func mapOld(path string, size int64, toWrite bool) (mapping []byte, err error) {
	flag, access := os.O_RDONLY, unix.PROT_READ
	if toWrite {
		flag, access = os.O_RDWR, unix.PROT_READ|unix.PROT_WRITE
	}
	f, err := os.OpenFile(path, flag, 0)
	if errors.Is(err, unix.EROFS) {
		err = fmt.Errorf("%w: %w", fs.ErrPermission, err)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() != size {
		return nil, fmt.Errorf("%s has %d bytes, want %d: %w", path, info.Size(), size, fs.ErrNotExist)
	}
	if toWrite {
		if err := reserve(f, size); err != nil {
			return nil, fmt.Errorf("%s needs %d bytes on disk: %w", path, size, err)
		}
	}
	return unix.Mmap(int(f.Fd()), 0, int(size), access, unix.MAP_SHARED)
}

func syncMapping(path string, mapping []byte) error {
	if err := unix.Msync(mapping, unix.MS_SYNC); err != nil {
		return &os.PathError{Op: "sync", Path: path, Err: err}
	}
	return nil
}

func unmap(mapping []byte) error {
	if mapping == nil {
		return nil
	}
	return unix.Munmap(mapping)
}

// rewrite reserves blocks where the file system cannot do it by itself: it writes what there is, and zeros after it.
func rewrite(f *os.File, size int64) error {
	block := make([]byte, 1<<20)
	for offset := int64(0); offset < size; {
		b := block[:min(size-offset, int64(len(block)))]
		n, err := f.ReadAt(b, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		clear(b[n:])
		if _, err := f.WriteAt(b, offset); err != nil {
			return err
		}
		offset += int64(len(b))
	}
	return nil
}
