package graph

import (
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A ListWriter makes lists of neighbours that it is given one by one.
type ListWriter struct {
	w    *Writer
	node record.NodeID // of the list that may go on
	list []record.NodeID
	arcs []codec.Arc // of the list
}

// NewListWriter makes a writer of lists.
func NewListWriter(w *Writer) *ListWriter { return &ListWriter{w: w} }

// UpTo writes the list that was held, and empty ones, so that node is next.
func (l *ListWriter) UpTo(node record.NodeID) error {
	for l.w.next < node {
		if l.w.next != l.node {
			l.list, l.arcs = l.list[:0], l.arcs[:0]
		}
		if err := l.w.Append(l.list, l.arcs); err != nil {
			return err
		}
	}
	return nil
}

// Add adds a neighbour of a node, and the arc that joins them.
func (l *ListWriter) Add(node, neighbor record.NodeID, a codec.Arc) error {
	if node != l.node {
		if err := l.UpTo(node); err != nil {
			return err
		}
		l.node, l.list, l.arcs = node, l.list[:0], l.arcs[:0]
	}
	l.list, l.arcs = append(l.list, neighbor), append(l.arcs, a)
	return nil
}
