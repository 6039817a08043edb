//go:build linux || darwin

package kv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// locksDirectories says whether directories have locks.
const locksDirectories = true

// lockDirectory takes the lock that Badger takes on a directory, shared as for reading or not; unlock is nil where
// another holds it. A directory that is removed meanwhile is an fs.ErrNotExist.
func lockDirectory(dir string, shared bool) (unlock func() error, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err != nil {
		return nil, f.Close()
	}
	locked, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	named, err := os.Stat(dir)
	if err == nil && !os.SameFile(locked, named) {
		err = fmt.Errorf("%s: %w", dir, fs.ErrNotExist)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// freeBytes is what this process may still write on the file system of a directory.
func freeBytes(dir string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, err
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil
}

// allocatedBytes is what a file takes on the disk, which is less than its size where nothing was written.
func allocatedBytes(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}

// markTable returns the mark of a table's file.
func markTable(path string) (tableMark, error) {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return tableMark{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return tableMark{Size: stat.Size, Modified: stat.Mtim.Nano(), Changed: stat.Ctim.Nano(), Number: stat.Ino}, nil
}

// writable returns why files cannot be made in a directory, nil where they can.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
