package main

import (
	"errors"

	"golang.org/x/sys/unix"
)

// newPages maps zeroed memory, in huge pages where the system grants them.
func newPages(size int) (array []byte, release func() error, err error) {
	array, err = unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	// A system without huge pages refuses the advice, and the array is as good.
	if err := unix.Madvise(array, unix.MADV_HUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) {
		return nil, nil, errors.Join(err, unix.Munmap(array))
	}
	return array, func() error { return unix.Munmap(array) }, nil
}
