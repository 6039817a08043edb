package kv

import (
	"context"
	"encoding/binary"

	"github.com/graphcleaner/graphcleaner/internal/spill"
)

// sortedRows hands the rows that a column or matrix writer put into its sorter to set, ascending by node, each with its
// encoding, borrowed. A node given twice is a *DuplicateRowError that names what is being written.
func sortedRows(sorter *spill.Sorter, what string, set func(v NodeID, body []byte) error) error {
	last := int64(-1)
	for r, err := range sorter.Records(context.Background()) {
		if err != nil {
			return err
		}
		v := NodeID(binary.BigEndian.Uint64(r.Key))
		if int64(v) == last {
			return &DuplicateRowError{Name: what, Node: v}
		}
		last = int64(v)
		if err := set(v, r.Value); err != nil {
			return err
		}
	}
	return nil
}
