package worker

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/internal/gap"
	"github.com/graphcleaner/graphcleaner/kv"
)

// An arcCodec makes and reads frames of arcs of a block. The payload is a gap block: its first list has the rows that
// have arcs, counted from the first one, and the others are their lists of columns.
type arcCodec struct {
	lists   gap.Encoder[kv.NodeID]
	rows    []kv.NodeID
	offsets []int64
	columns []kv.NodeID
}

// frame is the frame of arcs of a block. The payload is appended to memory.
func (c *arcCodec) frame(row, column uint32, list *kv.Adjacency, memory []byte) Frame {
	c.lists.Reset()
	c.rows = c.rows[:0]
	for v := list.First; v < list.End; v++ {
		if len(list.Of(v)) > 0 {
			c.rows = append(c.rows, v-list.First)
		}
	}
	c.lists.Append(c.rows)
	for _, v := range c.rows {
		c.lists.Append(list.Of(list.First + v))
	}
	return Frame{Kind: KindArcs, Row: row, Column: column, First: uint32(list.First), Count: uint32(list.Len()),
		Payload: c.lists.AppendTo(memory)}
}

// read appends the rows of a frame of arcs of a block with so many columns to a list that ends before them.
func (c *arcCodec) read(f *Frame, columns uint32, list *kv.Adjacency) error {
	block, err := gap.Parse(f.Payload, max(columns, f.Count))
	if err == nil {
		c.offsets, c.columns, err = gap.AppendAll(c.offsets[:0], c.columns[:0], block)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errFrame, f.Place(), err)
	}
	if len(c.offsets) == 0 || c.offsets[0] == 0 || c.offsets[0] != int64(len(c.offsets)-1) {
		return fmt.Errorf("%w: %s: %d lists do not have a row each", errFrame, f.Place(), len(c.offsets)-1)
	}
	for i, row := range c.columns[:c.offsets[0]] {
		if uint32(row) >= f.Count {
			return fmt.Errorf("%w: %s: row %d of %d", errFrame, f.Place(), row, f.Count)
		}
		fill(list, f.First+uint32(row))
		list.Neighbors = append(list.Neighbors, c.columns[c.offsets[i]:c.offsets[i+1]]...)
		fill(list, f.First+uint32(row)+1)
	}
	fill(list, f.First+f.Count)
	return nil
}

// fill ends the last row of a list, and adds empty ones, up to a row.
func fill(list *kv.Adjacency, row uint32) {
	for ; uint32(list.End) < row; list.End++ {
		list.Offsets = append(list.Offsets, int64(len(list.Neighbors)))
	}
}
