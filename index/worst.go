package index

import "bytes"

// A worstKey tells a scan which rows are too late in the order to be among the best, so that blocks of nodes that all
// are need not be read. Its zero value asks for nothing.
type worstKey struct {
	order Order  // the first; its property has blocks
	key   []byte // the sort key of the worst of the best rows; nil as long as there are not enough
}

// asked reports whether a scan should look at the blocks of the property ordered by.
func (w *worstKey) asked() bool { return w != nil && w.order.Property != "" }

// before reports whether every node of a block of that property sorts behind the key.
func (w *worstKey) before(b block) bool {
	if w.key == nil {
		return false
	}
	best := b.min
	if w.order.Descending {
		best = b.max
	}
	part := appendSortPart(nil, best, w.order)
	return bytes.Compare(part, w.key[:min(len(part), len(w.key))]) > 0
}
