//go:build linux || darwin

package storedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/graphcleaner/graphcleaner/internal/realpath"
)

// Lock takes the lock on a directory, shared as for reading or not; an ErrLocked if another holds it. It is the lock
// that Badger takes if it is left to. A directory that is removed meanwhile is an fs.ErrNotExist, and one with a file
// that has no place in a store an ErrForeignFile. Lock returns the absolute path of the directory, the one by which its
// files are opened. Calling unlock again does nothing.
func Lock(dir string, shared bool) (path string, unlock func() error, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	if path, err = lock(f, dir, shared); err != nil {
		return "", nil, errors.Join(err, f.Close())
	}
	return path, sync.OnceValue(func() error {
		// A process that this one has just started may have the file open until it runs its program: closing gives no
		// lock back before that.
		return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
	}), nil
}

// lock locks a directory that is open, and returns its path.
func lock(f *os.File, dir string, shared bool) (path string, err error) {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return "", lockedError(dir)
	}
	if err != nil {
		return "", &fs.PathError{Op: "flock", Path: dir, Err: err}
	}
	if path, err = realpath.Of(dir); err != nil {
		return "", err
	}
	file, err := f.Stat()
	if err != nil {
		return "", err
	}
	current, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !os.SameFile(file, current) {
		return "", fmt.Errorf("%s: %w", dir, fs.ErrNotExist)
	}
	return path, checkFileTypes(path, dir, shared)
}

// FreeBytes is the space that this process may still use on the file system of a directory.
func FreeBytes(dir string) (int64, error) {
	var stat unix.Statfs_t
	err := unix.Statfs(dir, &stat)
	return int64(stat.Bavail) * int64(stat.Bsize), err
}

// AllocatedBytes is the space of a file on the disk, which is less than its size if nothing was written.
func AllocatedBytes(info fs.FileInfo) int64 { return info.Sys().(*syscall.Stat_t).Blocks * 512 }

// links is how many names a file has.
func links(info fs.FileInfo) uint64 { return uint64(info.Sys().(*syscall.Stat_t).Nlink) }

// number is that of a file in its file system.
func number(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

// Writable returns why files cannot be made in a directory, nil if they can.
func Writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
