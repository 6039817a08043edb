//go:build !linux

package ops

import "github.com/graphcleaner/graphcleaner/kv/scratch"

// A mapping is zeroed memory.
type mapping[T scratch.Number] struct{ data []T }

func mapMemory[T scratch.Number](length int) (mapping[T], error) {
	return mapping[T]{make([]T, length)}, nil
}

// free gives the memory back; data must not be used afterwards.
func (m *mapping[T]) free() error {
	m.data = nil
	return nil
}
