package kv

import (
	"fmt"
	"strings"
)

// A DuplicateNodeError says that an id stands for two rows of a node file. It is an ErrExists.
type DuplicateNodeError struct {
	ID            string
	First, Second int64 // Node.Source of the first row, and of the least row that repeats it
}

func (e *DuplicateNodeError) Error() string {
	return fmt.Sprintf("node %q is given twice, at %d and at %d", e.ID, e.First, e.Second)
}

func (e *DuplicateNodeError) Unwrap() error { return ErrExists }

// An UnknownNodeError says that an edge ends at an id that no node has. It is an ErrNotFound.
type UnknownNodeError struct {
	ID     string
	Source int64 // of the edge
}

func (e *UnknownNodeError) Error() string {
	return fmt.Sprintf("the edge at %d ends at node %q, which is not among the nodes", e.Source, e.ID)
}

func (e *UnknownNodeError) Unwrap() error { return ErrNotFound }

// An InvalidNodeError says what is wrong with a row of a node file: its Err is an ErrInvalidID, ErrInvalidName (of the
// label) or ErrInvalidValue.
type InvalidNodeError struct {
	ID     string
	Source int64
	Err    error
}

func (e *InvalidNodeError) Error() string { return fmt.Sprintf("the node at %d: %v", e.Source, e.Err) }

func (e *InvalidNodeError) Unwrap() error { return e.Err }

// duplicateNode collects repeated ids and keeps the one to report: the least second source, then the least id.
type duplicateNode struct {
	found  bool
	id     string
	first  int // position of the first row
	second int64
}

func (d *duplicateNode) note(id string, first int, second int64) {
	if !d.found || second < d.second || second == d.second && id < d.id {
		*d = duplicateNode{true, strings.Clone(id), first, second}
	}
}

// unknownNode collects unknown ends of edges and keeps the one to report: the least source, then the least id.
type unknownNode struct {
	found  bool
	id     string
	source int64
}

func (u *unknownNode) note(id string, source int64) {
	if !u.found || source < u.source || source == u.source && id < u.id {
		*u = unknownNode{true, strings.Clone(id), source}
	}
}

func (u *unknownNode) err() error {
	if !u.found {
		return nil
	}
	return &UnknownNodeError{ID: u.id, Source: u.source}
}
