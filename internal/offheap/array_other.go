//go:build !linux

package offheap

// An Array is a slice with memory of its own, of items without pointers. The zero Array is empty.
type Array[T any] struct {
	Data []T // not to be used after Free
}

// New makes an array of zeros.
func New[T any](length int) (Array[T], error) { return Array[T]{make([]T, length)}, nil }

// Free gives the memory back. Freeing twice is harmless.
func (a *Array[T]) Free() error {
	*a = Array[T]{}
	return nil
}
