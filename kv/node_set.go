package kv

// A NodeSet is a set of nodes, of one bit for each that there may be.
type NodeSet []uint64

// NewNodeSet returns an empty set of nodes v < n.
func NewNodeSet(n int) NodeSet { return make(NodeSet, (n+63)/64) }

// Add puts v into the set.
func (s NodeSet) Add(v NodeID) { s[v/64] |= 1 << (v % 64) }

// Has reports whether v is in the set.
func (s NodeSet) Has(v NodeID) bool { return s[v/64]&(1<<(v%64)) != 0 }
