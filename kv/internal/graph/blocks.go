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

// Adjacency is described in kv.
type Adjacency struct {
	record.Range
	Offsets   []int64
	Neighbors []record.NodeID
	Weights   []float32
	BytesRead int64

	arcs []codec.Arc // of Neighbors, if they were read
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

	// hubDegree is the degree above which a node's list begins a block, so that who asks for a node before it does not
	// read such a list.
	hubDegree = 1 << 13

	// scanBlocks is the number of blocks that Blocks puts into one range: long enough that handing one out is nothing
	// beside reading it, short enough that one a worker takes little memory.
	scanBlocks = 4

	// addedRange is the number of nodes in one range of nodes that were added after the load and have no block.
	addedRange = 1 << 14
)

// A Graph is the graph of a snapshot.
type Graph struct {
	Records     snapshot.Reader
	Partitions  *Partitions
	Generation  record.Generation // zero when there is none
	Form        codec.ArcForm
	Nodes       int
	LoadedNodes int   // the nodes in blocks; the rest were added since
	Deltas      int64 // edges added, removed or changed since the load
}

// Blocks returns the ranges that decode together, ascending, covering 0 ≤ v < NumNodes. The slice is the caller's.
func (g *Graph) Blocks() ([]record.Range, error) {
	p, err := g.Partition()
	if err != nil {
		return nil, err
	}
	ranges := make([]record.Range, 0, p.Blocks()/scanBlocks+2)
	for b := 0; b < p.Blocks(); b += scanBlocks {
		ranges = append(ranges, record.Range{First: p.Starts[b], End: p.Starts[min(b+scanBlocks, p.Blocks())]})
	}
	for first := g.LoadedNodes; first < g.Nodes; first += addedRange {
		ranges = append(ranges, record.Range{First: record.NodeID(first), End: record.NodeID(min(first+addedRange, g.Nodes))})
	}
	return ranges, nil
}

// Read decodes a range of Blocks, or several that follow each other, into buf, reusing its memory; edges added and
// removed since the load are merged in, and so are the arcs of all neighbours, if they are asked for and the graph has
// arcs. Any other range is an ErrShape. It is safe for concurrent use with a buf each.
func (g *Graph) Read(r record.Range, buf *Adjacency, withArcs bool) error {
	withArcs = withArcs && g.Form.Any()
	p, err := g.Partition()
	if err != nil {
		return err
	}
	if r.End < r.First || int(r.End) > g.Nodes {
		return fmt.Errorf("adjacency of nodes %d to %d of %d: %w", r.First, r.End, g.Nodes, snapshot.ErrShape)
	}
	buf.Reset(r)
	if err := g.readLoaded(p, r, buf, withArcs); err != nil || g.Deltas == 0 {
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
func (g *Graph) readLoaded(p *Partition, r record.Range, buf *Adjacency, withArcs bool) error {
	next := r.First
	for b := p.Find(r.First); b < p.Blocks() && next < r.End; b++ {
		if p.Starts[b] != next || p.Starts[b+1] > r.End {
			return fmt.Errorf("adjacency of nodes %d to %d: %w: block %d holds %d to %d",
				r.First, r.End, snapshot.ErrShape, b, p.Starts[b], p.Starts[b+1])
		}
		if err := g.AppendBlock(p, b, buf, withArcs); err != nil {
			return err
		}
		next = p.Starts[b+1]
	}
	for ; next < r.End; next++ {
		buf.Offsets = append(buf.Offsets, int64(len(buf.Neighbors)))
	}
	return nil
}

// AppendBlock decodes block b and appends it to buf, with arcs if they are asked for.
func (g *Graph) AppendBlock(p *Partition, b int, buf *Adjacency, withArcs bool) error {
	err := g.readBlock(p, b, func(block gap.Block, size int) (err error) {
		buf.BytesRead += int64(size)
		buf.Offsets, buf.Neighbors, err = gap.AppendAll(buf.Offsets, buf.Neighbors, block)
		return err
	})
	if err != nil || !withArcs {
		return err
	}
	return g.appendArcs(p, b, buf)
}

// A block is on disk a chain of
//
//	uvarint  the first node
//	         the lists, as package gap writes them

// readBlock hands block b, which is borrowed, to read, with its size on disk. The error of read is that of a damaged
// record.
func (g *Graph) readBlock(p *Partition, b int, read func(block gap.Block, size int) error) error {
	return snapshot.NeedChain(g.Records, p.name(record.KindAdjacency, b).Key(), func(body []byte) error {
		block, err := p.parse(b, body)
		if err == nil {
			err = read(block, len(body))
		}
		return p.damaged(b, err)
	})
}

// lookupBlock returns the partition, and the block of a loaded node, which is kept in memory for the next lookup.
func (g *Graph) lookupBlock(v record.NodeID) (p *Partition, b int, block gap.Block, err error) {
	if p, err = g.Partition(); err != nil {
		return nil, 0, block, err
	}
	b = p.Find(v)
	body, err := snapshot.LookupChain(g.Records, p.name(record.KindAdjacency, b))
	if err == nil {
		block, err = p.parse(b, body)
		err = p.damaged(b, err)
	}
	return p, b, block, err
}

// parse reads block b. The error says what is wrong with it.
func (p *Partition) parse(b int, body []byte) (gap.Block, error) {
	first, n := binary.Uvarint(body)
	if n <= 0 || first != uint64(p.Starts[b]) {
		return gap.Block{}, fmt.Errorf("it begins with node %d, want %d", first, p.Starts[b])
	}
	block, err := gap.Parse(body[n:], uint32(p.Starts[p.Blocks()]))
	if want := p.Range(b).Len(); err == nil && block.Rows() != want {
		err = fmt.Errorf("it has %d lists, want %d", block.Rows(), want)
	}
	return block, err
}

// A Writer writes the lists of nodes 0, 1, 2, … as blocks of a new generation.
type Writer struct {
	put       func(key, body []byte) error
	partition Partition
	encoder   gap.Encoder[record.NodeID]
	arcs      codec.ArcEncoder // of a directed or weighted graph
	next      record.NodeID    // the next list's node
	body      []byte

	// What Add was given of the next list.
	neighbors []record.NodeID
	joined    []codec.Arc
}

// NewWriter makes a writer of a graph of a form.
func NewWriter(put func(key, body []byte) error, g record.Generation, form codec.ArcForm) *Writer {
	return &Writer{put: put, partition: NewPartition(g), arcs: codec.ArcEncoder{Form: form}}
}

// Next is the node of the next list.
func (w *Writer) Next() record.NodeID { return w.next }

// Append adds the list of the next node, and its arcs if the graph is directed or weighted. Their memory is the
// caller's again.
func (w *Writer) Append(list []record.NodeID, arcs []codec.Arc) error {
	if len(list) > hubDegree {
		if err := w.closeBlock(); err != nil {
			return err
		}
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

// Add adds a neighbour of a node, and the arc that joins them. Nodes ascend, and so do the neighbours of a node.
func (w *Writer) Add(node, neighbor record.NodeID, a codec.Arc) error {
	if w.next < node {
		if err := w.UpTo(node); err != nil {
			return err
		}
	}
	w.neighbors = append(w.neighbors, neighbor)
	if w.arcs.Form.Any() {
		w.joined = append(w.joined, a)
	}
	return nil
}

// UpTo writes the lists below that of a node: of what Add was given, and empty ones.
func (w *Writer) UpTo(node record.NodeID) error {
	for w.next < node {
		if err := w.Append(w.neighbors, w.joined); err != nil {
			return err
		}
		w.neighbors, w.joined = w.neighbors[:0], w.joined[:0]
	}
	return nil
}

func (w *Writer) closeBlock() error {
	rows := w.encoder.Rows()
	if rows == 0 {
		return nil
	}
	w.body = binary.AppendUvarint(w.body[:0], uint64(w.next-record.NodeID(rows)))
	w.body = w.encoder.AppendTo(w.body)
	w.encoder.Reset()
	p := &w.partition
	_, err := record.PutParts(w.put, p.name(record.KindAdjacency, p.Blocks()).Key(), w.body)
	if err == nil && w.arcs.Form.Any() {
		w.body = w.arcs.AppendTo(w.body[:0])
		_, err = record.PutParts(w.put, p.name(record.KindArcs, p.Blocks()).Key(), w.body)
	}
	p.Add(rows)
	return err
}

// Close writes the rest, and the partition.
func (w *Writer) Close() error {
	if err := w.closeBlock(); err != nil {
		return err
	}
	return w.partition.write(w.put)
}
