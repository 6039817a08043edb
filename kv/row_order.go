package kv

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/graphcleaner/graphcleaner/internal/spill"
)

// A rowOrder sees to it that the rows that a writer is given ascend, or sorts them.
type rowOrder struct {
	b      *Bulk
	what   string // is written
	rows   uint32
	next   NodeID        // the least node that is still in order
	sorter *spill.Sorter // of all rows; nil if they ascend
	buf    []byte        // scratch
}

// wants reports whether the row of a node is written. Removed nodes have none.
func (o *rowOrder) wants(v NodeID) (bool, error) {
	if err := o.b.check(); err != nil {
		return false, err
	}
	if uint32(v) >= o.rows {
		return false, fmt.Errorf("%s: node number %d of %d: %w", o.what, v, o.rows, ErrShape)
	}
	return !o.b.removed.Has(v), nil
}

// ascend takes the next row in order.
func (o *rowOrder) ascend(v NodeID) error {
	if v < o.next {
		return fmt.Errorf("%s: node number %d after %d: %w: the rows do not ascend, and the writer does not sort them",
			o.what, v, o.next-1, ErrInvalidValue)
	}
	o.next = v + 1
	return nil
}

// sorted hands the rows of the sorter to set, ascending by node, each with its encoding, borrowed. A node given twice
// is a *DuplicateRowError.
func (o *rowOrder) sorted(set func(v NodeID, body []byte) error) error {
	last := int64(-1)
	for r, err := range o.sorter.Records(context.Background()) {
		if err != nil {
			return err
		}
		v := NodeID(binary.BigEndian.Uint64(r.Key))
		if int64(v) == last {
			return &DuplicateRowError{Name: o.what, Node: v}
		}
		last = int64(v)
		if err := set(v, r.Value); err != nil {
			return err
		}
	}
	return nil
}

// close removes what was spilled.
func (o *rowOrder) close() error {
	if o.sorter == nil {
		return nil
	}
	return o.sorter.Close()
}
