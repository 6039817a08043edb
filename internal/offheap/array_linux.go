package offheap

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An Array is a slice with memory of its own, of items without pointers. The zero Array is empty.
type Array[T any] struct {
	Data  []T // not to be used after Free
	bytes []byte
}

// New makes an array of zeros.
func New[T any](length int) (Array[T], error) {
	if length == 0 {
		return Array[T]{}, nil
	}
	var item T
	size := length * int(unsafe.Sizeof(item))
	const protection, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_ANON | unix.MAP_PRIVATE | unix.MAP_NORESERVE
	bytes, err := unix.Mmap(-1, 0, size, protection, flags)
	if err != nil {
		return Array[T]{}, fmt.Errorf("%d bytes of memory: %w", size, err)
	}
	// Only a wish: a kernel without huge pages answers EINVAL, and the memory is good all the same.
	if err := unix.Madvise(bytes, unix.MADV_HUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) {
		return Array[T]{}, errors.Join(fmt.Errorf("%d bytes of memory: %w", size, err), unix.Munmap(bytes))
	}
	return Array[T]{unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(bytes))), length), bytes}, nil
}

// Free gives the memory back. Freeing twice is harmless.
func (a *Array[T]) Free() error {
	if a.bytes == nil {
		return nil
	}
	bytes := a.bytes
	*a = Array[T]{}
	return unix.Munmap(bytes)
}
