// Package graph reads and writes the adjacency of a graph: lists of neighbours in blocks, with their arcs, and what
// changed since they were written. It knows nothing of what nodes are called, nor of what they have.
package graph

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/gap"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// Adjacency holds the decoded lists of a Range: list i, of node First+i, is Neighbors[Offsets[i]:Offsets[i+1]],
// ascending. The zero value is ready for ReadAdjacency.
type Adjacency struct {
	record.Range
	Offsets   []int64         // [Range.Len()+1], from 0
	Neighbors []record.NodeID // [Offsets[Range.Len()]]

	// Weights are those of the arcs to Neighbors, if the graph was read along a direction and is weighted; nil: all are 1.
	Weights []float32

	arcs []codec.Arc // of Neighbors, if they were read

	// BytesRead is the encoded size of what ReadAdjacency last read.
	BytesRead int64
}

// Reset makes room for the lists of a range.
func (a *Adjacency) Reset(r record.Range) {
	*a = Adjacency{Range: r, Offsets: append(a.Offsets[:0], 0), Neighbors: a.Neighbors[:0], arcs: a.arcs[:0]}
}

// Clear makes all lists of a range empty.
func (a *Adjacency) Clear(r record.Range) {
	a.Offsets = slices.Grow(a.Offsets[:0], r.Len()+1)
	a.Reset(r)
	a.Offsets = append(a.Offsets, make([]int64, r.Len())...)
}

// Of returns the neighbours of v, which must be in the range. The slice is borrowed from a.
func (a *Adjacency) Of(v record.NodeID) []record.NodeID {
	i := v - a.First
	return a.Neighbors[a.Offsets[i]:a.Offsets[i+1]]
}

const (
	// blockTarget is the encoded size, in bytes, at which a block is closed. Asking for one node costs what reading and
	// checking one block costs; a scan hardly notices the size.
	blockTarget = 16 << 10

	// HubDegree is the degree above which a node's list gets a block of its own, in parts of so many neighbours.
	HubDegree = 1 << 13

	// scanParts is the least number of records that Blocks puts into one range, but the last: long enough that handing one
	// out is nothing beside reading it, short enough that one a worker takes little memory.
	scanParts = 4

	// addedRange is the number of nodes in one range of nodes that were added after the load and have no block.
	addedRange = 1 << 14
)

// A Graph is the graph of a snapshot.
type Graph struct {
	Records     snapshot.Reader
	Directories *Directories
	Generation  record.Generation // zero when there is none
	Form        codec.ArcForm
	Nodes       int
	LoadedNodes int   // the nodes in blocks; the rest were added since
	Deltas      int64 // edges added, removed or changed since the load
}

// Blocks returns the ranges that decode together, ascending, covering 0 ≤ v < NumNodes. The slice is the
// caller's.
func (g *Graph) Blocks() ([]record.Range, error) {
	d, err := g.Directory()
	if err != nil {
		return nil, err
	}
	ranges := make([]record.Range, 0, d.Blocks()/scanParts+2)
	parts := scanParts
	for b := range d.Blocks() {
		if parts >= scanParts {
			ranges, parts = append(ranges, record.Range{First: d.Starts[b], End: d.Starts[b]}), 0
		}
		ranges[len(ranges)-1].End = d.Starts[b+1]
		parts += int(d.Parts[b])
	}
	for first := g.LoadedNodes; first < g.Nodes; first += addedRange {
		ranges = append(ranges, record.Range{First: record.NodeID(first), End: record.NodeID(min(first+addedRange, g.Nodes))})
	}
	return ranges, nil
}

// Read decodes a range of Blocks, or several that follow each other, into buf, reusing its memory; edges added and
// removed since the load are merged in. Any other range is an ErrShape. It is safe for concurrent use with a buf
// each.
func (g *Graph) Read(r record.Range, buf *Adjacency) error { return g.read(r, buf, false) }

// ReadLists is Read, with the arcs of all neighbours if the graph has arcs.
func (g *Graph) ReadLists(r record.Range, buf *Adjacency) error { return g.read(r, buf, g.Form.Any()) }

func (g *Graph) read(r record.Range, buf *Adjacency, withArcs bool) error {
	d, err := g.Directory()
	if err != nil {
		return err
	}
	if r.End < r.First || int(r.End) > g.Nodes {
		return fmt.Errorf("adjacency of nodes %d to %d of %d: %w", r.First, r.End, g.Nodes, snapshot.ErrShape)
	}
	buf.Reset(r)
	if err := g.readLoaded(d, r, buf, withArcs); err != nil || g.Deltas == 0 {
		return err
	}
	deltas, err := g.deltas(r)
	if err != nil || len(deltas) == 0 {
		return err
	}
	buf.Apply(deltas, withArcs)
	return nil
}

// readLoaded decodes the blocks of r after the first offset of buf.
func (g *Graph) readLoaded(d *Directory, r record.Range, buf *Adjacency, withArcs bool) error {
	next := r.First
	for b := d.Find(r.First); b < d.Blocks() && next < r.End; b++ {
		if d.Starts[b] != next || d.Starts[b+1] > r.End {
			return fmt.Errorf("adjacency of nodes %d to %d: %w: block %d holds %d to %d",
				r.First, r.End, snapshot.ErrShape, b, d.Starts[b], d.Starts[b+1])
		}
		if err := g.AppendBlock(d, b, buf, withArcs); err != nil {
			return err
		}
		next = d.Starts[b+1]
	}
	for ; next < r.End; next++ {
		buf.Offsets = append(buf.Offsets, int64(len(buf.Neighbors)))
	}
	return nil
}

// AppendBlock decodes block b, all parts of it, and appends it to buf, with arcs if they are asked for.
func (g *Graph) AppendBlock(d *Directory, b int, buf *Adjacency, withArcs bool) error {
	rows, begin := len(buf.Offsets), len(buf.Neighbors)
	for part := range d.Parts[b] {
		err := g.readBlock(d, b, part, func(block adjacencyBlock) error {
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
			if part == d.Parts[b]-1 && len(buf.Neighbors)-begin != block.entries {
				return fmt.Errorf("got %d neighbours, want %d", len(buf.Neighbors)-begin, block.entries)
			}
			buf.BytesRead += int64(block.size)
			return nil
		})
		if err == nil && withArcs {
			err = g.appendArcs(d, b, part, buf)
		}
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

// maxEntries bounds what block b may claim to hold, so that memory is only asked for if it can be filled: a
// neighbour costs at least a byte, and the parts of a hub hold HubDegree neighbours each.
func (d *Directory) maxEntries(b, size int) int {
	if d.Parts[b] == 1 {
		return size
	}
	return min(int(d.Parts[b])*HubDegree, int(d.Starts[len(d.Starts)-1]))
}

// readBlock hands one part of block b to read, whose error is that of a damaged record.
func (g *Graph) readBlock(d *Directory, b int, part uint32, read func(adjacencyBlock) error) error {
	key := record.PairKey(record.KindAdjacency, d.Generation, uint32(b), part)
	return snapshot.Need(g.Records, key, func(body []byte) error {
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

// lookupBlock returns the first part of block b, which is kept in memory for the next lookup.
func (g *Graph) lookupBlock(d *Directory, b int) (adjacencyBlock, error) {
	name := snapshot.Name{Kind: record.KindAdjacency, Generation: d.Generation, A: uint32(b)}
	body, err := snapshot.Lookup(g.Records, name)
	if err != nil {
		return adjacencyBlock{}, err
	}
	block, err := d.parse(b, body)
	return block, d.damaged(b, err)
}

// parse reads one part of block b. The error says what is wrong with it.
func (d *Directory) parse(b int, body []byte) (adjacencyBlock, error) {
	first, n := binary.Uvarint(body)
	entries, m := binary.Uvarint(body[max(n, 0):])
	if n <= 0 || m <= 0 || first != uint64(d.Starts[b]) {
		return adjacencyBlock{}, fmt.Errorf("it begins with node %d, want %d", first, d.Starts[b])
	}
	if entries > uint64(d.maxEntries(b, len(body))) {
		return adjacencyBlock{}, fmt.Errorf("%d neighbours in %d bytes", entries, len(body))
	}
	block, err := gap.Parse(body[n+m:], uint32(d.Starts[d.Blocks()]))
	if err != nil {
		return adjacencyBlock{}, err
	}
	if want := d.Range(b).Len(); block.Rows() != want {
		return adjacencyBlock{}, fmt.Errorf("it has %d lists, want %d", block.Rows(), want)
	}
	return adjacencyBlock{block, int(entries), len(body)}, nil
}

// A Writer writes the lists of nodes 0, 1, 2, … as blocks of a new generation.
type Writer struct {
	put       func(key, body []byte) error
	directory Directory
	encoder   gap.Encoder[record.NodeID]
	arcs      codec.ArcEncoder // of a directed or weighted graph
	next      record.NodeID    // the next list's node
	body      []byte
}

// NewWriter makes a writer of a graph of a form.
func NewWriter(put func(key, body []byte) error, g record.Generation, form codec.ArcForm) *Writer {
	return &Writer{put: put, directory: Directory{Generation: g}, arcs: codec.ArcEncoder{Form: form}}
}

// Next is the node of the next list.
func (w *Writer) Next() record.NodeID { return w.next }

// Append adds the list of the next node, and its arcs if the graph is directed or weighted. Their memory is the
// caller's again.
func (w *Writer) Append(list []record.NodeID, arcs []codec.Arc) error {
	if len(list) > HubDegree {
		return w.appendHub(list, arcs)
	}
	w.encoder.Append(list)
	if w.arcs.Form.Any() {
		w.arcs.Append(arcs)
	}
	w.next++
	if w.encoder.Size() >= blockTarget || w.arcs.Size() >= arcsTarget {
		return w.closeBlock()
	}
	return nil
}

func (w *Writer) appendHub(list []record.NodeID, arcs []codec.Arc) error {
	if err := w.closeBlock(); err != nil {
		return err
	}
	parts := 0
	for part := range slices.Chunk(list, HubDegree) {
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
	w.directory.Add(1, parts)
	w.next++
	return nil
}

func (w *Writer) closeBlock() error {
	rows := w.encoder.Rows()
	if rows == 0 {
		return nil
	}
	if err := w.putPart(w.next-record.NodeID(rows), 0, w.encoder.Entries()); err != nil {
		return err
	}
	w.directory.Add(rows, 1)
	return nil
}

func (w *Writer) putPart(first record.NodeID, part, entries int) error {
	w.body = binary.AppendUvarint(w.body[:0], uint64(first))
	w.body = binary.AppendUvarint(w.body, uint64(entries))
	w.body = w.encoder.AppendTo(w.body)
	w.encoder.Reset()
	block := uint32(w.directory.Blocks())
	err := w.put(record.PairKey(record.KindAdjacency, w.directory.Generation, block, uint32(part)), w.body)
	if err != nil || !w.arcs.Form.Any() {
		return err
	}
	w.body = w.arcs.AppendTo(w.body[:0])
	return w.put(record.PairKey(record.KindArcs, w.directory.Generation, block, uint32(part)), w.body)
}

// Close writes what is left, and the directory.
func (w *Writer) Close() error {
	if err := w.closeBlock(); err != nil {
		return err
	}
	return w.directory.write(w.put)
}
