package worker

import (
	"encoding/binary"
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
	weights []float32 // none: 1 each
}

// reset forgets the arcs and keeps the memory.
func (l *arcList) reset() {
	l.rows, l.offsets, l.columns, l.weights = l.rows[:0], append(l.offsets[:0], 0), l.columns[:0], l.weights[:0]
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

// frame is the frame of arcs of a block: the length of a gap block, the block, and weights of so many bytes. The first
// list of the block has the rows that have arcs, counted from the first one. The payload is appended to memory.
func (e *arcEncoder) frame(row, column uint32, arcs *arcList, weight int, memory []byte) Frame {
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
	at := len(memory)
	memory = e.lists.AppendTo(append(memory, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(memory[at:], uint32(len(memory)-at-4))
	return Frame{
		Kind: KindArcs, Row: row, Column: column, First: first, Count: last - first + 1, Width: uint32(weight),
		Payload: appendVector(memory, arcs.weights),
	}
}

// read decodes a frame of arcs of a block with so many columns, whose weights have so many bytes.
func (l *arcList) read(f *Frame, columns uint32, weight int) error {
	l.reset()
	if err := f.wantWidth(weight); err != nil {
		return err
	}
	if len(f.Payload) < 4 {
		return f.want(4)
	}
	length := binary.LittleEndian.Uint32(f.Payload)
	if int64(length) > int64(len(f.Payload)-4) {
		return f.want(4 + int64(length))
	}
	block, err := gap.Parse(f.Payload[4:4+length], max(columns, f.Count))
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
	if err := f.want(4 + int64(length) + int64(weight)*int64(len(l.columns))); err != nil {
		return err
	}
	if weight > 0 {
		l.weights, _ = vector(l.weights, f.Payload[4+length:], len(l.columns))
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
	list.Neighbors, list.Weights = append(list.Neighbors, l.columns...), append(list.Weights, l.weights...)
}

// block is the block of the arcs, with so many rows from first on. Its lists are in memory that the caller keeps.
func (l *arcList) block(first, count, columns uint32, list *kv.Adjacency) (*block.Block, error) {
	list.Range = kv.Range{First: kv.NodeID(first), End: kv.NodeID(first + count)}
	list.Offsets, list.Neighbors, list.Weights = append(list.Offsets[:0], 0), list.Neighbors[:0], list.Weights[:0]
	l.appendTo(list, first, count)
	return block.New(int(columns), *list)
}
