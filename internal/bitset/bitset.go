// Package bitset has sets of small numbers, of one bit for each number that there may be.
package bitset

import (
	"iter"
	"math/bits"
)

// A Set is a set of numbers. A nil set is empty.
type Set[T ~uint32] []uint64

// New returns an empty set of numbers below n.
func New[T ~uint32](n int) Set[T] { return make(Set[T], (n+63)/64) }

// Add puts v into the set.
func (s Set[T]) Add(v T) { s[v/64] |= 1 << (v % 64) }

// Has reports whether v is in the set.
func (s Set[T]) Has(v T) bool { return int(v/64) < len(s) && s[v/64]&(1<<(v%64)) != 0 }

// Len is how many numbers are in the set.
func (s Set[T]) Len() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// All yields the numbers of the set, ascending.
func (s Set[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(T(64*i + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

// RemoveAll takes the numbers of a list out of the set.
func (s Set[T]) RemoveAll(list []T) {
	for _, v := range list {
		s[v/64] &^= 1 << (v % 64)
	}
}
