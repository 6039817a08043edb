package graph

import (
	"encoding/binary"
	"fmt"
	"sort"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// A Partition knows which nodes share an adjacency block. Block b holds the lists of Starts[b] ≤ v < Starts[b+1]. It
// costs 4 bytes a block, that is, about one byte in four thousand of the adjacency, so that every block can be fetched
// by its key, without a search on disk.
type Partition struct {
	Generation record.Generation
	Starts     []record.NodeID // one more than blocks
}

// NewPartition makes one of no blocks.
func NewPartition(g record.Generation) Partition { return Partition{g, []record.NodeID{0}} }

// Blocks is the number of blocks.
func (p *Partition) Blocks() int { return len(p.Starts) - 1 }

// Range is the nodes of block b.
func (p *Partition) Range(b int) record.Range {
	return record.Range{First: p.Starts[b], End: p.Starts[b+1]}
}

// Find returns the block of a loaded node.
func (p *Partition) Find(v record.NodeID) int {
	return sort.Search(p.Blocks(), func(b int) bool { return p.Starts[b+1] > v })
}

// Add adds a block.
func (p *Partition) Add(rows int) {
	p.Starts = append(p.Starts, p.Starts[p.Blocks()]+record.NodeID(rows))
}

// name is that of the lists or the arcs of a block.
func (p *Partition) name(k record.Kind, b int) snapshot.Name {
	return snapshot.Name{Kind: k, Generation: p.Generation, A: uint32(b)}
}

// write puts the partition of a graph that has blocks: a chain of the number of nodes of each block, as varints.
func (p *Partition) write(put func(key, body []byte) error) error {
	if p.Blocks() == 0 {
		return nil
	}
	var body []byte
	for b := range p.Blocks() {
		body = binary.AppendUvarint(body, uint64(p.Range(b).Len()))
	}
	_, err := record.PutParts(put, p.name(record.KindAdjacencyPartition, 0).Key(), body)
	return err
}

// Partitions keeps the partition of the generation last read.
type Partitions struct{ last atomic.Pointer[Partition] }

// Partition returns the partition of the blocks. It is shared and must not be changed.
func (g *Graph) Partition() (*Partition, error) {
	if p := g.Partitions.last.Load(); p != nil && p.Generation == g.Generation {
		return p, nil
	}
	p, err := g.readPartition()
	if err != nil {
		return nil, err
	}
	g.Partitions.last.Store(p)
	return p, nil
}

// readPartition is Partition from the disk.
func (g *Graph) readPartition() (*Partition, error) {
	p := NewPartition(g.Generation)
	if g.LoadedNodes == 0 {
		return &p, nil
	}
	key := p.name(record.KindAdjacencyPartition, 0).Key()
	return &p, snapshot.NeedChain(g.Records, key, func(body []byte) error {
		rest := uint64(g.LoadedNodes)
		for rest > 0 || len(body) > 0 {
			rows, n := binary.Uvarint(body)
			if n <= 0 || rows == 0 || rows > rest {
				return record.Corrupt(key, fmt.Sprintf("block %d has %d nodes of %d left", p.Blocks(), rows, rest))
			}
			p.Add(int(rows))
			rest, body = rest-rows, body[n:]
		}
		return nil
	})
}
