package ops

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/graphcleaner/graphcleaner/kv/scratch"
)

// A mapping is zeroed memory outside the Go heap, in huge pages where the kernel grants them: rows of a tile are
// read in random order, and with small pages every one is a miss of the TLB as well.
type mapping[T scratch.Number] struct {
	data  []T
	bytes []byte
}

func mapMemory[T scratch.Number](length int) (mapping[T], error) {
	if length == 0 {
		return mapping[T]{}, nil
	}
	var item T
	size := length * int(unsafe.Sizeof(item))
	bytes, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return mapping[T]{}, err
	}
	// Only a wish: a kernel without huge pages answers EINVAL, and the memory is good all the same.
	if err := unix.Madvise(bytes, unix.MADV_HUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) {
		return mapping[T]{}, errors.Join(err, unix.Munmap(bytes))
	}
	return mapping[T]{unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(bytes))), length), bytes}, nil
}

// free gives the memory back; data must not be used afterwards.
func (m *mapping[T]) free() error {
	if m.bytes == nil {
		return nil
	}
	bytes := m.bytes
	*m = mapping[T]{}
	return unix.Munmap(bytes)
}
