//go:build !linux

package ops

// A mapping is zeroed memory.
type mapping[T float32 | ~uint32] struct{ data []T }

func mapMemory[T float32 | ~uint32](length int) (mapping[T], error) {
	return mapping[T]{make([]T, length)}, nil
}

// free gives the memory back; data must not be used afterwards.
func (m *mapping[T]) free() error {
	m.data = nil
	return nil
}
