package kv

import (
	"iter"
	"math/bits"
)

// A NodeSet is a set of nodes, of one bit for each that there may be.
type NodeSet []uint64

// NewNodeSet returns an empty set of nodes v < n.
func NewNodeSet(n int) NodeSet { return make(NodeSet, (n+63)/64) }

// Add puts v into the set.
func (s NodeSet) Add(v NodeID) { s[v/64] |= 1 << (v % 64) }

// Has reports whether v is in the set. A nil set is empty.
func (s NodeSet) Has(v NodeID) bool { return int(v/64) < len(s) && s[v/64]&(1<<(v%64)) != 0 }

// Len is the number of nodes in the set.
func (s NodeSet) Len() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// last is the greatest node of a set of at least one.
func (s NodeSet) last() int {
	i := len(s) - 1
	for s[i] == 0 {
		i--
	}
	return 64*i + bits.Len64(s[i]) - 1
}

// All yields the nodes of the set, ascending.
func (s NodeSet) All() iter.Seq[NodeID] {
	return func(yield func(NodeID) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(NodeID(64*i + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}
