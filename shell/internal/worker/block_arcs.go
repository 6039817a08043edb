package worker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// blockArcs are all arcs of a block, as they come, in memory or in a file.
type blockArcs struct {
	rows, columns uint32
	weight        int           // bytes of a weight; 0: there are none
	list          kv.Adjacency  // offsets of all rows; neighbours and weights if they are in memory
	file          *os.File      // nil: none
	written       *bufio.Writer // to the file
	complete      bool          // all have come
	whole         *ops.Block    // nil: not made yet
}

func newBlockArcs(rows, columns, weight int) *blockArcs {
	b := &blockArcs{
		rows: uint32(rows), columns: uint32(columns), weight: weight,
		list: kv.Adjacency{Range: kv.Range{End: kv.NodeID(rows)}, Offsets: []int64{0}},
	}
	if weight > 0 {
		b.list.Weights = []float32{}
	}
	return b
}

// filled is how many rows are there.
func (b *blockArcs) filled() uint32 { return uint32(len(b.list.Offsets) - 1) }

// arcs is how many arcs have come.
func (b *blockArcs) arcs() int64 { return b.list.Offsets[b.filled()] }

// entryBytes is what an arc takes in memory and in the file.
func (b *blockArcs) entryBytes() int { return 4 + b.weight }

// arcBytes is what the arcs take in memory.
func (b *blockArcs) arcBytes() int64 { return int64(len(b.list.Neighbors)) * int64(b.entryBytes()) }

// offsetBytes is what the offsets of all rows take in memory.
func (b *blockArcs) offsetBytes() int64 { return 8 * int64(b.rows) }

// fill adds empty lists up to a row.
func (b *blockArcs) fill(row uint32) {
	for b.filled() < row {
		b.list.Offsets = append(b.list.Offsets, b.arcs())
	}
}

// add adds arcs of rows behind those that are there.
func (b *blockArcs) add(arcs *arcList) error {
	at := 0
	for i, row := range arcs.rows {
		b.fill(row)
		columns := arcs.list(i)
		b.list.Offsets = append(b.list.Offsets, b.arcs()+int64(len(columns)))
		for _, column := range columns {
			var weight float32
			if b.weight > 0 {
				weight = float32(arcs.weights[at])
				at++
			}
			if b.file != nil {
				if err := b.write(column, weight); err != nil {
					return err
				}
				continue
			}
			b.list.Neighbors = append(b.list.Neighbors, kv.NodeID(column))
			if b.weight > 0 {
				b.list.Weights = append(b.list.Weights, weight)
			}
		}
	}
	return nil
}

// write writes an arc behind those in the file.
func (b *blockArcs) write(column uint32, weight float32) error {
	entry := binary.LittleEndian.AppendUint32(b.written.AvailableBuffer(), column)
	if b.weight > 0 {
		entry = binary.LittleEndian.AppendUint32(entry, math.Float32bits(weight))
	}
	_, err := b.written.Write(entry)
	return err
}

// spill brings the arcs from memory to a file. Those that follow go there, too.
func (b *blockArcs) spill() (err error) {
	if b.file, err = os.CreateTemp("", "triangles-*.tmp"); err != nil {
		return err
	}
	b.written = bufio.NewWriterSize(b.file, streamBytes)
	for i, column := range b.list.Neighbors {
		var weight float32
		if b.weight > 0 {
			weight = b.list.Weights[i]
		}
		if err := b.write(uint32(column), weight); err != nil {
			return err
		}
	}
	b.list.Neighbors, b.list.Weights, b.whole = nil, nil, nil
	return nil
}

// close removes the file.
func (b *blockArcs) close() error {
	if b.file == nil {
		return nil
	}
	file := b.file
	b.file, b.written = nil, nil
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// block is the block of all arcs, which are in memory.
func (b *blockArcs) block() (_ *ops.Block, err error) {
	if b.whole == nil {
		b.whole, err = ops.NewBlock(int(b.columns), b.list)
	}
	return b.whole, err
}

// A span is some rows or columns of a block.
type span struct{ from, end uint32 }

// part is the block of some rows and columns, both counted from the first of them. If half, lists end before the node of their row.
func (b *blockArcs) part(rows, columns span, half bool) (_ *ops.Block, arcs int, err error) {
	list := kv.Adjacency{Range: kv.Range{End: kv.NodeID(rows.end - rows.from)}, Offsets: []int64{0}}
	if b.weight > 0 {
		list.Weights = []float32{}
	}
	at, end := b.list.Offsets[rows.from], b.list.Offsets[rows.end]
	next := b.fromMemory(at)
	if b.file != nil {
		if err := b.written.Flush(); err != nil {
			return nil, 0, err
		}
		next = b.fromFile(at, end)
	}
	for row := rows.from; row < rows.end; row++ {
		last := columns.end
		if half {
			last = min(last, row)
		}
		for ; at < b.list.Offsets[row+1]; at++ {
			column, weight, err := next()
			if err != nil {
				return nil, 0, fmt.Errorf("%s: %w", b.file.Name(), err)
			}
			if column < columns.from || column >= last {
				continue
			}
			list.Neighbors = append(list.Neighbors, kv.NodeID(column-columns.from))
			if b.weight > 0 {
				list.Weights = append(list.Weights, weight)
			}
		}
		list.Offsets = append(list.Offsets, int64(len(list.Neighbors)))
	}
	block, err := ops.NewBlock(int(columns.end-columns.from), list)
	return block, len(list.Neighbors), err
}

// fromMemory reads arcs in memory one by one, from a place on.
func (b *blockArcs) fromMemory(at int64) func() (column uint32, weight float32, err error) {
	return func() (column uint32, weight float32, err error) {
		column = uint32(b.list.Neighbors[at])
		if b.weight > 0 {
			weight = b.list.Weights[at]
		}
		at++
		return column, weight, nil
	}
}

// fromFile reads arcs in the file one by one, between two places.
func (b *blockArcs) fromFile(at, end int64) func() (column uint32, weight float32, err error) {
	each := int64(b.entryBytes())
	in := bufio.NewReaderSize(io.NewSectionReader(b.file, at*each, (end-at)*each), streamBytes)
	entry := make([]byte, each)
	return func() (column uint32, weight float32, err error) {
		if _, err = io.ReadFull(in, entry); err != nil {
			return 0, 0, err
		}
		if b.weight > 0 {
			weight = math.Float32frombits(binary.LittleEndian.Uint32(entry[4:]))
		}
		return binary.LittleEndian.Uint32(entry), weight, nil
	}
}

// rowsWithin is the end of the rows from one on that have so many arcs at most in all blocks together, but of one row at least.
func rowsWithin(from uint32, arcs int64, blocks ...*blockArcs) uint32 {
	more := sort.Search(int(blocks[0].rows-from-1), func(i int) bool {
		sum := int64(0)
		for _, b := range blocks {
			sum += b.list.Offsets[from+uint32(i)+2] - b.list.Offsets[from]
		}
		return sum > arcs
	})
	return from + 1 + uint32(more)
}
