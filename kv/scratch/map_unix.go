//go:build linux || darwin

package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// mapNew makes a file of zeros whose every block is on disk, and maps it.
func mapNew(path string, size int64) (mapped []byte, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := reserve(f, size); err != nil {
		return nil, err
	}
	return unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// mapOld maps a file, which must have a size; only to read where it may not be written to.
func mapOld(path string, size int64) (mapped []byte, err error) {
	access := unix.PROT_READ | unix.PROT_WRITE
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		access = unix.PROT_READ
		f, err = os.Open(path)
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
	return unix.Mmap(int(f.Fd()), 0, int(size), access, unix.MAP_SHARED)
}

func syncMapped(path string, mapped []byte) error {
	if err := unix.Msync(mapped, unix.MS_SYNC); err != nil {
		return &os.PathError{Op: "sync", Path: path, Err: err}
	}
	return nil
}

func unmap(mapped []byte) error {
	if mapped == nil {
		return nil
	}
	return unix.Munmap(mapped)
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
