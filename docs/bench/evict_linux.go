package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// dropPages asks the kernel to forget a file's pages. Only pages that are on disk can go, so they are written first.
func dropPages(file *os.File) error {
	err := file.Sync()
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EROFS) {
		return err
	}
	return unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
}
