package record

import "math"

// A NodeID numbers a node inside a store, from 0.
type NodeID uint32

// MaxNodes leaves the end of a full range a NodeID, also that of its last block of at most 4096 rows.
const MaxNodes = math.MaxUint32 + 1 - 1<<12

// A Range is the nodes First ≤ v < End.
type Range struct{ First, End NodeID }

// Len is the number of nodes in the range.
func (r Range) Len() int { return int(r.End) - int(r.First) }
