package kv

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/gap"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
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

	// Weights are those of the arcs to Neighbors, where Oriented.ReadAdjacency read a weighted graph; nil: all are 1.
	Weights []float32

	arcs []codec.Arc // of Neighbors, while an Oriented reads them

	// BytesRead is the encoded size of what ReadAdjacency last read.
	BytesRead int64
}

// Of returns the neighbours of v, which must be in the range. The slice is borrowed from a.
func (a *Adjacency) Of(v NodeID) []NodeID {
	i := v - a.First
	return a.Neighbors[a.Offsets[i]:a.Offsets[i+1]]
}

const (
	// adjacencyTarget is the encoded size, in bytes, at which a block is closed. Asking for one node costs what reading
	// and checking one block costs; a scan hardly notices the size.
	adjacencyTarget = 16 << 10

	// hubDegree is the degree above which a node's list gets a block of its own, in parts of so many neighbours.
	hubDegree = 1 << 13

	// scanParts is the least number of records that AdjacencyBlocks puts into one range, but the last: long enough
	// that handing one out is nothing beside reading it, short enough that one a worker takes little memory.
	scanParts = 4

	// addedRange is the number of nodes in one range of nodes that were added after the load and have no block.
	addedRange = 1 << 14
)

// AdjacencyBlocks returns the ranges that decode together, ascending, covering 0 ≤ v < NumNodes. The slice is the
// caller's.
func (tx *Tx) AdjacencyBlocks() ([]Range, error) {
	if err := tx.Err(); err != nil {
		return nil, err
	}
	d, err := tx.directory()
	if err != nil {
		return nil, err
	}
	ranges := make([]Range, 0, d.blocks()/scanParts+2)
	parts := scanParts
	for b := range d.blocks() {
		if parts >= scanParts {
			ranges, parts = append(ranges, Range{d.starts[b], d.starts[b]}), 0
		}
		ranges[len(ranges)-1].End = d.starts[b+1]
		parts += int(d.parts[b])
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
	if err := tx.Err(); err != nil {
		return err
	}
	d, err := tx.directory()
	if err != nil {
		return err
	}
	if r.End < r.First || int(r.End) > tx.cat.Nodes {
		return fmt.Errorf("adjacency of nodes %d to %d of %d: %w", r.First, r.End, tx.cat.Nodes, ErrShape)
	}
	*buf = Adjacency{Range: r, Offsets: append(buf.Offsets[:0], 0), Neighbors: buf.Neighbors[:0]}
	if err := tx.readLoaded(d, r, buf); err != nil || tx.cat.EdgeDeltas == 0 {
		return err
	}
	return tx.mergeDeltas(buf)
}

// readLoaded decodes the blocks of r behind the first offset of buf.
func (tx *Tx) readLoaded(d *directory, r Range, buf *Adjacency) error {
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
	return nil
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
	key := record.PairKey(record.KindAdjacency, d.generation, uint32(b), part)
	return tx.readPart(d, b, part, key, func(body []byte) error {
		block, err := d.parse(b, body)
		if err == nil {
			err = read(block)
		}
		if err != nil {
			return record.Corrupt(key, err.Error())
		}
		return nil
	})
}

// lookupBlock returns one part of block b, which is kept in memory for the next lookup.
func (tx *Tx) lookupBlock(d *directory, b int, part uint32) (adjacencyBlock, error) {
	name := recordName{record.KindAdjacency, d.generation, uint32(b), part}
	r, err := tx.lookup(name)
	if err != nil {
		return adjacencyBlock{}, err
	}
	block, err := d.parse(b, r.body)
	if err != nil {
		return block, record.Corrupt(name.key(), err.Error())
	}
	return block, nil
}

// parse reads one part of block b. The error says what is wrong with it.
func (d *directory) parse(b int, body []byte) (adjacencyBlock, error) {
	first, n := binary.Uvarint(body)
	entries, m := binary.Uvarint(body[max(n, 0):])
	if n <= 0 || m <= 0 || first != uint64(d.starts[b]) {
		return adjacencyBlock{}, fmt.Errorf("it begins with node %d, want %d", first, d.starts[b])
	}
	if entries > uint64(d.maxEntries(b, len(body))) {
		return adjacencyBlock{}, fmt.Errorf("%d neighbours in %d bytes", entries, len(body))
	}
	block, err := gap.Parse(body[n+m:], uint32(d.starts[d.blocks()]))
	if err != nil {
		return adjacencyBlock{}, err
	}
	if want := d.blockRange(b).Len(); block.Rows() != want {
		return adjacencyBlock{}, fmt.Errorf("it has %d lists, want %d", block.Rows(), want)
	}
	return adjacencyBlock{block, int(entries), len(body)}, nil
}

// An adjacencyWriter writes the lists of nodes 0, 1, 2, … as blocks of a new generation.
type adjacencyWriter struct {
	put       func(key, body []byte) error
	directory directory
	encoder   gap.Encoder[NodeID]
	arcs      codec.ArcEncoder // of a directed or weighted graph
	next      NodeID           // the next list's node
	body      []byte
}

func newAdjacencyWriter(put func(key, body []byte) error, g record.Generation, form codec.ArcForm) *adjacencyWriter {
	return &adjacencyWriter{put: put, directory: directory{generation: g}, arcs: codec.ArcEncoder{Form: form}}
}

// append adds the list of the next node, and its arcs where the graph is directed or weighted. Their memory is the
// caller's again.
func (w *adjacencyWriter) append(list []NodeID, arcs []codec.Arc) error {
	if len(list) > hubDegree {
		return w.appendHub(list, arcs)
	}
	w.encoder.Append(list)
	w.arcs.Append(arcs)
	return w.appended()
}

// appendEncoded is append of a list of at most hubDegree neighbours as gap.AppendList writes it, of a graph that is
// neither directed nor weighted.
func (w *adjacencyWriter) appendEncoded(degree int, list []byte) error {
	w.encoder.AppendEncoded(degree, list)
	return w.appended()
}

// appended closes the block where the list that was appended fills it.
func (w *adjacencyWriter) appended() error {
	w.next++
	if w.encoder.Size() >= adjacencyTarget || w.arcs.Size() >= arcsTarget {
		return w.closeBlock()
	}
	return nil
}

func (w *adjacencyWriter) appendHub(list []NodeID, arcs []codec.Arc) error {
	if err := w.closeBlock(); err != nil {
		return err
	}
	parts := 0
	for part := range slices.Chunk(list, hubDegree) {
		w.encoder.Append(part)
		if w.arcs.Form.Any() {
			w.arcs.Append(arcs[:len(part)])
			arcs = arcs[len(part):]
		}
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
	block := uint32(w.directory.blocks())
	err := w.put(record.PairKey(record.KindAdjacency, w.directory.generation, block, uint32(part)), w.body)
	if err != nil || !w.arcs.Form.Any() {
		return err
	}
	w.body = w.arcs.AppendTo(w.body[:0])
	return w.put(record.PairKey(record.KindArcs, w.directory.generation, block, uint32(part)), w.body)
}

// close writes what is left, and the directory.
func (w *adjacencyWriter) close() error {
	if err := w.closeBlock(); err != nil {
		return err
	}
	return w.directory.write(w.put)
}
