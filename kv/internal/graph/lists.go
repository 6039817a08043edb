package graph

import (
	"github.com/graphcleaner/graphcleaner/internal/gap"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Lists are the lists of a stretch of sorted arcs, u << width | v for a neighbour v of u. The first and the last
// list may go on in other stretches and stay as they are, as does that of a hub, which is written in parts.
type Lists struct {
	lists []encodedList
	bytes []byte
	list  []record.NodeID // scratch
}

// An encodedList is the list of a node: arcs from ≤ i < to of the stretch, and if it is encoded the bytes from the end
// of the list before up to end.
type encodedList struct {
	node     record.NodeID
	from, to int
	encoded  bool
	end      int
}

// Encode encodes the lists of a stretch of arcs, in place of those it held.
func (e *Lists) Encode(arcs []uint64, width int) {
	e.lists, e.bytes = e.lists[:0], e.bytes[:0]
	for from := 0; from < len(arcs); {
		u := arcs[from] >> width
		to := from + 1
		for to < len(arcs) && arcs[to]>>width == u {
			to++
		}
		list := encodedList{node: record.NodeID(u), from: from, to: to}
		if from > 0 && to < len(arcs) && to-from <= HubDegree {
			list.encoded = true
			e.list = appendNeighbors(e.list[:0], arcs[from:to], width)
			e.bytes = gap.AppendList(e.bytes, e.list)
		}
		list.end = len(e.bytes)
		e.lists = append(e.lists, list)
		from = to
	}
}

// appendNeighbors appends the neighbours of arcs.
func appendNeighbors(dst []record.NodeID, arcs []uint64, width int) []record.NodeID {
	for _, a := range arcs {
		dst = append(dst, record.NodeID(a&(1<<width-1)))
	}
	return dst
}

// A ListWriter puts the lists of stretches that follow each other together.
type ListWriter struct {
	w     *Writer
	width int
	node  record.NodeID // of the list that may go on
	list  []record.NodeID
	arcs  []codec.Arc // of the list, if there are any
}

// NewListWriter makes a writer of lists whose arcs have numbers of so many bits.
func NewListWriter(w *Writer, width int) *ListWriter { return &ListWriter{w: w, width: width} }

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

// Append writes the lists of the next stretch but what may go on.
func (l *ListWriter) Append(e *Lists, arcs []uint64) error {
	begin := 0
	for _, list := range e.lists {
		if err := l.UpTo(list.node); err != nil {
			return err
		}
		if list.encoded {
			if err := l.w.appendEncoded(list.to-list.from, e.bytes[begin:list.end]); err != nil {
				return err
			}
			begin = list.end
			continue
		}
		if list.node != l.node {
			l.node, l.list = list.node, l.list[:0]
		}
		l.list = appendNeighbors(l.list, arcs[list.from:list.to], l.width)
	}
	return nil
}
