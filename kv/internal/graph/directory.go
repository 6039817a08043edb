package graph

import (
	"encoding/binary"
	"fmt"
	"sort"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// A Directory knows which nodes share an adjacency block. Block b holds the lists of Starts[b] ≤ v < Starts[b+1]. It
// costs 4 bytes a block, that is, about one byte in four thousand of the adjacency, so that every block can be fetched
// by its key, without a search on disk.
type Directory struct {
	Generation record.Generation
	Starts     []record.NodeID // one more than blocks
}

// NewDirectory makes one of no blocks.
func NewDirectory(g record.Generation) Directory { return Directory{g, []record.NodeID{0}} }

// Blocks is the number of blocks.
func (d *Directory) Blocks() int { return len(d.Starts) - 1 }

// Range is the nodes of block b.
func (d *Directory) Range(b int) record.Range {
	return record.Range{First: d.Starts[b], End: d.Starts[b+1]}
}

// Find returns the block of a loaded node.
func (d *Directory) Find(v record.NodeID) int {
	return sort.Search(d.Blocks(), func(b int) bool { return d.Starts[b+1] > v })
}

// Add adds a block.
func (d *Directory) Add(rows int) {
	d.Starts = append(d.Starts, d.Starts[d.Blocks()]+record.NodeID(rows))
}

// name is that of the lists or the arcs of a block.
func (d *Directory) name(k record.Kind, b int) snapshot.Name {
	return snapshot.Name{Kind: k, Generation: d.Generation, A: uint32(b)}
}

// write puts the directory of a graph that has blocks: a chain of the number of nodes of each block, as varints.
func (d *Directory) write(put func(key, body []byte) error) error {
	if d.Blocks() == 0 {
		return nil
	}
	var body []byte
	for b := range d.Blocks() {
		body = binary.AppendUvarint(body, uint64(d.Range(b).Len()))
	}
	_, err := record.PutParts(put, d.name(record.KindAdjacencyDirectory, 0).Key(), body)
	return err
}

// Directories keeps the directory of the generation last read.
type Directories struct{ last atomic.Pointer[Directory] }

// Directory returns the directory of the blocks. It is shared and must not be changed.
func (g *Graph) Directory() (*Directory, error) {
	if d := g.Directories.last.Load(); d != nil && d.Generation == g.Generation {
		return d, nil
	}
	d, err := g.readDirectory()
	if err != nil {
		return nil, err
	}
	g.Directories.last.Store(d)
	return d, nil
}

// readDirectory is Directory from the disk.
func (g *Graph) readDirectory() (*Directory, error) {
	d := NewDirectory(g.Generation)
	if g.LoadedNodes == 0 {
		return &d, nil
	}
	key := d.name(record.KindAdjacencyDirectory, 0).Key()
	return &d, snapshot.NeedChain(g.Records, key, func(body []byte) error {
		rest := uint64(g.LoadedNodes)
		for rest > 0 || len(body) > 0 {
			rows, n := binary.Uvarint(body)
			if n <= 0 || rows == 0 || rows > rest {
				return record.Corrupt(key, fmt.Sprintf("block %d has %d nodes of %d left", d.Blocks(), rows, rest))
			}
			d.Add(int(rows))
			rest, body = rest-rows, body[n:]
		}
		return nil
	})
}
