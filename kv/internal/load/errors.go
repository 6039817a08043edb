package load

import (
	"fmt"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A DuplicateNodeError says that an id stands for two rows of a node file. It is an ErrExists.
type DuplicateNodeError struct {
	ID            string
	First, Second int64 // Node.Source of the first row, and of the least row that repeats it
}

func (e *DuplicateNodeError) Error() string {
	return fmt.Sprintf("node %q is given twice, at %d and at %d", e.ID, e.First, e.Second)
}

func (e *DuplicateNodeError) Unwrap() error { return record.ErrExists }

// An UnknownNodeError says that an edge ends at an id that no node has. It is an ErrNotFound.
type UnknownNodeError struct {
	ID     string
	Source int64 // of the edge
}

func (e *UnknownNodeError) Error() string {
	return fmt.Sprintf("the edge at %d ends at node %q, which is not among the nodes", e.Source, e.ID)
}

func (e *UnknownNodeError) Unwrap() error { return record.ErrNotFound }

// An InvalidNodeError says what is wrong with a row of a node file: its Err is an ErrInvalidID, ErrInvalidName (of the
// label) or ErrInvalidValue.
type InvalidNodeError struct {
	ID     string
	Source int64
	Err    error
}

func (e *InvalidNodeError) Error() string {
	return fmt.Sprintf("node %q, at %d: %v", e.ID, e.Source, e.Err)
}

func (e *InvalidNodeError) Unwrap() error { return e.Err }

// A badRow is the row to report, of those that are wrong alike: the one with the least source, then the least id.
type badRow struct {
	found  bool
	id     string
	source int64
	first  int // position of the first row with the id, if this one repeats it
}

func (b *badRow) note(id string, source int64, first int) {
	if !b.found || source < b.source || source == b.source && id < b.id {
		*b = badRow{true, strings.Clone(id), source, first}
	}
}
