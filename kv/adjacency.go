package kv

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/gap"
)

// A Range is the nodes First ≤ v < End.
type Range struct{ First, End NodeID }

// Len is the number of nodes in the range.
func (r Range) Len() int { return int(r.End) - int(r.First) }

// Adjacency holds the decoded lists of a Range: list i, of node First+i, is Neighbors[Offsets[i]:Offsets[i+1]],
// ascending. The zero value is ready for ReadAdjacency.
type Adjacency struct {
	Range
	Offsets   []int64  // [Range.Len()+1], from 0
	Neighbors []NodeID // [Offsets[Range.Len()]]

	// BytesRead is the encoded size of what ReadAdjacency last read.
	BytesRead int64
}

// Of returns the neighbours of v, which must be in the range. The slice is borrowed from a.
func (a *Adjacency) Of(v NodeID) []NodeID {
	i := v - a.First
	return a.Neighbors[a.Offsets[i]:a.Offsets[i+1]]
}

const (
	// adjacencyTarget is the encoded size, in bytes, at which a block is closed: large enough that reading it is one
	// long read, small enough that one block a worker is nothing.
	adjacencyTarget = 64 << 10

	// hubDegree is the degree above which a node's list gets a block of its own, in parts of so many neighbours.
	hubDegree = 1 << 15

	// addedRange is the number of nodes in one range of nodes that were added after the load and have no block.
	addedRange = 1 << 14
)

// AdjacencyBlocks returns the ranges that decode together, ascending, covering 0 ≤ v < NumNodes. The slice is the
// caller's.
func (tx *Tx) AdjacencyBlocks() ([]Range, error) {
	d, err := tx.directory()
	if err != nil {
		return nil, err
	}
	ranges := make([]Range, 0, d.blocks()+1)
	for b := range d.blocks() {
		ranges = append(ranges, d.blockRange(b))
	}
	for first := tx.cat.LoadedNodes; first < tx.cat.Nodes; first += addedRange {
		ranges = append(ranges, Range{NodeID(first), NodeID(min(first+addedRange, tx.cat.Nodes))})
	}
	return ranges, nil
}

// ReadAdjacency decodes a range of AdjacencyBlocks, or several that follow each other, into buf, reusing its memory;
// edges added and removed since the load are merged in. Any other range is an ErrShape. It is safe for concurrent use
// with a buf each.
func (tx *Tx) ReadAdjacency(r Range, buf *Adjacency) error {
	d, err := tx.directory()
	if err != nil {
		return err
	}
	if r.End < r.First || int(r.End) > tx.cat.Nodes {
		return fmt.Errorf("adjacency of nodes %d to %d of %d: %w", r.First, r.End, tx.cat.Nodes, ErrShape)
	}
	*buf = Adjacency{Range: r, Offsets: append(buf.Offsets[:0], 0), Neighbors: buf.Neighbors[:0]}
	next := r.First
	for b := d.find(r.First); b < d.blocks() && next < r.End; b++ {
		if d.starts[b] != next || d.starts[b+1] > r.End {
			return fmt.Errorf("adjacency of nodes %d to %d: %w: block %d holds %d to %d",
				r.First, r.End, ErrShape, b, d.starts[b], d.starts[b+1])
		}
		if err := tx.appendBlock(d, b, buf); err != nil {
			return err
		}
		next = d.starts[b+1]
	}
	for ; next < r.End; next++ {
		buf.Offsets = append(buf.Offsets, int64(len(buf.Neighbors)))
	}
	if tx.cat.EdgeDeltas == 0 {
		return nil
	}
	return tx.mergeDeltas(buf)
}

// appendBlock decodes block b, all parts of it, behind what buf holds.
func (tx *Tx) appendBlock(d *directory, b int, buf *Adjacency) error {
	rows, begin := len(buf.Offsets), len(buf.Neighbors)
	for part := range d.parts[b] {
		err := tx.readBlock(d, b, part, func(block adjacencyBlock) error {
			buf.Offsets = buf.Offsets[:rows] // the parts of a hub are one row, which the last part ends
			if part == 0 {
				buf.Neighbors = slices.Grow(buf.Neighbors, block.entries)
			}
			var err error
			before := len(buf.Neighbors)
			buf.Offsets, buf.Neighbors, err = gap.AppendAll(buf.Offsets, buf.Neighbors, block.Block)
			if err != nil {
				return err
			}
			if part > 0 && (before == len(buf.Neighbors) || buf.Neighbors[before] <= buf.Neighbors[before-1]) {
				return fmt.Errorf("part %d does not follow part %d", part, part-1)
			}
			if part == d.parts[b]-1 && len(buf.Neighbors)-begin != block.entries {
				return fmt.Errorf("got %d neighbours, want %d", len(buf.Neighbors)-begin, block.entries)
			}
			buf.BytesRead += int64(block.size)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// An adjacencyBlock is one part of a block as read from disk; its bytes are borrowed. On disk it is
//
//	uvarint  the block's first node
//	uvarint  the neighbours in all parts of the block
//	         the lists, as package gap writes them
type adjacencyBlock struct {
	gap.Block
	entries int
	size    int // bytes on disk
}

// maxEntries bounds what block b may claim to hold, so that memory is only asked for where it can be filled: a
// neighbour costs at least a byte, and the parts of a hub hold hubDegree neighbours each.
func (d *directory) maxEntries(b, size int) int {
	if d.parts[b] == 1 {
		return size
	}
	return min(int(d.parts[b])*hubDegree, int(d.starts[len(d.starts)-1]))
}

// readBlock hands one part of block b to read, whose error is that of a damaged record.
func (tx *Tx) readBlock(d *directory, b int, part uint32, read func(adjacencyBlock) error) error {
	key := pairKey(kindAdjacency, d.generation, uint32(b), part)
	return tx.readPart(d, b, part, key, func(body []byte) error {
		first, n := binary.Uvarint(body)
		entries, m := binary.Uvarint(body[max(n, 0):])
		if n <= 0 || m <= 0 || first != uint64(d.starts[b]) {
			return corrupt(key, fmt.Sprintf("it begins with node %d, want %d", first, d.starts[b]))
		}
		if entries > uint64(d.maxEntries(b, len(body))) {
			return corrupt(key, fmt.Sprintf("%d neighbours in %d bytes", entries, len(body)))
		}
		block, err := gap.Parse(body[n+m:], uint32(tx.cat.LoadedNodes))
		if err != nil {
			return corrupt(key, err.Error())
		}
		if want := d.blockRange(b).Len(); block.Rows() != want {
			return corrupt(key, fmt.Sprintf("it has %d lists, want %d", block.Rows(), want))
		}
		if err := read(adjacencyBlock{block, int(entries), len(body)}); err != nil {
			return corrupt(key, err.Error())
		}
		return nil
	})
}

// An adjacencyWriter writes the lists of nodes 0, 1, 2, … as blocks of a new generation.
type adjacencyWriter struct {
	put       func(key, body []byte) error
	directory directory
	encoder   gap.Encoder[NodeID]
	next      NodeID // the next list's node
	body      []byte
}

// append adds the list of the next node. Its memory is the caller's again.
func (w *adjacencyWriter) append(list []NodeID) error {
	if len(list) > hubDegree {
		return w.appendHub(list)
	}
	w.encoder.Append(list)
	w.next++
	if w.encoder.Size() >= adjacencyTarget {
		return w.closeBlock()
	}
	return nil
}

func (w *adjacencyWriter) appendHub(list []NodeID) error {
	if err := w.closeBlock(); err != nil {
		return err
	}
	parts := 0
	for part := range slices.Chunk(list, hubDegree) {
		w.encoder.Append(part)
		if err := w.putPart(w.next, parts, len(list)); err != nil {
			return err
		}
		parts++
	}
	w.directory.add(1, parts)
	w.next++
	return nil
}

func (w *adjacencyWriter) closeBlock() error {
	rows := w.encoder.Rows()
	if rows == 0 {
		return nil
	}
	if err := w.putPart(w.next-NodeID(rows), 0, w.encoder.Entries()); err != nil {
		return err
	}
	w.directory.add(rows, 1)
	return nil
}

func (w *adjacencyWriter) putPart(first NodeID, part, entries int) error {
	w.body = binary.AppendUvarint(w.body[:0], uint64(first))
	w.body = binary.AppendUvarint(w.body, uint64(entries))
	w.body = w.encoder.AppendTo(w.body)
	w.encoder.Reset()
	return w.put(pairKey(kindAdjacency, w.directory.generation, uint32(w.directory.blocks()), uint32(part)), w.body)
}

// close writes what is left, and the directory.
func (w *adjacencyWriter) close() error {
	if err := w.closeBlock(); err != nil {
		return err
	}
	return w.directory.write(w.put)
}
