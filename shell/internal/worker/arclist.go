package worker

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/internal/gap"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/block"
)

// An arcList has arcs of a block: rows that have some, ascending, and their lists of columns, ascending.
type arcList struct {
	rows    []uint32 // in the range
	offsets []int64  // [len(rows)+1]: list i is columns[offsets[i]:offsets[i+1]]
	columns []kv.NodeID
}

// reset forgets the arcs and keeps the memory.
func (l *arcList) reset() {
	l.rows, l.offsets, l.columns = l.rows[:0], append(l.offsets[:0], 0), l.columns[:0]
}

// add adds an arc, ascending by row and column, each once.
func (l *arcList) add(row, column uint32) {
	if len(l.rows) == 0 || l.rows[len(l.rows)-1] != row {
		l.rows = append(l.rows, row)
		l.offsets = append(l.offsets, 0)
	}
	l.columns = append(l.columns, kv.NodeID(column))
	l.offsets[len(l.rows)] = int64(len(l.columns))
}

// An arcEncoder makes frames of arcs.
type arcEncoder struct {
	lists gap.Encoder[kv.NodeID]
	from  []kv.NodeID
}

// frame is the frame of arcs of a block: a gap block, whose first list has the rows that have arcs, counted from the
// first one. The payload is appended to memory.
func (e *arcEncoder) frame(row, column uint32, arcs *arcList, memory []byte) Frame {
	first, last := arcs.rows[0], arcs.rows[len(arcs.rows)-1]
	e.lists.Reset()
	e.from = e.from[:0]
	for _, row := range arcs.rows {
		e.from = append(e.from, kv.NodeID(row-first))
	}
	e.lists.Append(e.from)
	for i := range arcs.rows {
		e.lists.Append(arcs.columns[arcs.offsets[i]:arcs.offsets[i+1]])
	}
	return Frame{Kind: KindArcs, Row: row, Column: column, First: first, Count: last - first + 1,
		Payload: e.lists.AppendTo(memory)}
}

// read decodes a frame of arcs of a block with so many columns.
func (l *arcList) read(f *Frame, columns uint32) error {
	l.reset()
	block, err := gap.Parse(f.Payload, max(columns, f.Count))
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errFrame, f.Place(), err)
	}
	l.offsets, l.columns, err = gap.AppendAll(l.offsets[:0], l.columns[:0], block)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errFrame, f.Place(), err)
	}
	if len(l.offsets) == 0 || l.offsets[0] == 0 || l.offsets[0] != int64(len(l.offsets)-1) {
		return fmt.Errorf("%w: %s: %d lists do not have a row each", errFrame, f.Place(), len(l.offsets)-1)
	}
	lists := l.offsets[0]
	for _, row := range l.columns[:lists] {
		if uint32(row) >= f.Count {
			return fmt.Errorf("%w: %s: row %d of %d", errFrame, f.Place(), row, f.Count)
		}
		l.rows = append(l.rows, f.First+uint32(row))
	}
	l.columns = append(l.columns[:0], l.columns[lists:]...)
	for i := range l.offsets {
		l.offsets[i] -= lists
	}
	return nil
}

// appendTo appends the lists of so many rows from first on.
func (l *arcList) appendTo(list *kv.Adjacency, first, count uint32) {
	before, at := int64(len(list.Neighbors)), 0
	for row := first; row < first+count; row++ {
		if at < len(l.rows) && l.rows[at] == row {
			at++
		}
		list.Offsets = append(list.Offsets, before+l.offsets[at])
	}
	list.Neighbors = append(list.Neighbors, l.columns...)
}

// block is the block of the arcs, with so many rows from first on. Its lists are in memory that the caller keeps.
func (l *arcList) block(first, count, columns uint32, list *kv.Adjacency) (*block.Block, error) {
	list.Range = kv.Range{First: kv.NodeID(first), End: kv.NodeID(first + count)}
	list.Offsets, list.Neighbors = append(list.Offsets[:0], 0), list.Neighbors[:0]
	l.appendTo(list, first, count)
	return block.New(int(columns), *list)
}
