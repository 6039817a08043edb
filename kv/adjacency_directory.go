package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A directory knows which nodes share an adjacency block. Block b holds the lists of starts[b] ≤ v < starts[b+1]; a
// block of more than one part holds the single list of a hub. It costs 8 bytes a block, that is, about one byte in
// two thousand of the adjacency, so that every block can be fetched by its key, without a search on disk.
type directory struct {
	generation record.Generation
	starts     []NodeID // one more than blocks
	parts      []uint32
}

// directoryChunk is the number of blocks that one directory record describes.
const directoryChunk = 8192

func (d *directory) blocks() int { return len(d.parts) }

func (d *directory) blockRange(b int) Range { return Range{d.starts[b], d.starts[b+1]} }

// find returns the block of a loaded node.
func (d *directory) find(v NodeID) int {
	return sort.Search(len(d.parts), func(b int) bool { return d.starts[b+1] > v })
}

func (d *directory) add(rows int, parts int) {
	if len(d.starts) == 0 {
		d.starts = append(d.starts, 0)
	}
	d.starts = append(d.starts, d.starts[len(d.starts)-1]+NodeID(rows))
	d.parts = append(d.parts, uint32(parts))
}

// write puts the directory's records: per block its number of nodes and its number of parts, as varints.
func (d *directory) write(put func(key, body []byte) error) error {
	for from := 0; from < d.blocks(); from += directoryChunk {
		var body []byte
		for b := from; b < min(from+directoryChunk, d.blocks()); b++ {
			body = binary.AppendUvarint(body, uint64(d.starts[b+1]-d.starts[b]))
			body = binary.AppendUvarint(body, uint64(d.parts[b]))
		}
		key := record.NumberKey(record.KindAdjacencyDirectory, d.generation, uint32(from/directoryChunk))
		if err := put(key, body); err != nil {
			return err
		}
	}
	return nil
}

// graphCache keeps the directory of the generation last read.
type graphCache struct{ last atomic.Pointer[directory] }

// directory returns the directory of the snapshot's adjacency. It is shared and must not be changed.
func (tx *Tx) directory() (*directory, error) {
	if d := tx.s.graph.last.Load(); d != nil && d.generation == tx.cat.Graph {
		return d, nil
	}
	d, err := tx.readDirectory()
	if err != nil {
		return nil, err
	}
	tx.s.graph.last.Store(d)
	return d, nil
}

func (tx *Tx) readDirectory() (*directory, error) {
	d := &directory{generation: tx.cat.Graph, starts: []NodeID{0}}
	for chunk := uint32(0); int(d.starts[d.blocks()]) < tx.cat.LoadedNodes; chunk++ {
		key := record.NumberKey(record.KindAdjacencyDirectory, tx.cat.Graph, chunk)
		err := tx.need(key, func(body []byte) error {
			for len(body) > 0 {
				rows, n := binary.Uvarint(body)
				parts, m := binary.Uvarint(body[max(n, 0):])
				left := uint64(tx.cat.LoadedNodes) - uint64(d.starts[d.blocks()])
				if n <= 0 || m <= 0 || rows == 0 || rows > left || parts == 0 || parts > 1<<31 || parts > 1 && rows > 1 {
					return record.Corrupt(key, fmt.Sprintf("block %d has %d nodes of %d left and %d parts", d.blocks(), rows, left, parts))
				}
				d.add(int(rows), int(parts))
				body = body[n+m:]
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

// need is get for a record that must be there.
func (tx *Tx) need(key []byte, read func(body []byte) error) error {
	err := tx.get(key, read)
	if errors.Is(err, ErrNotFound) {
		return record.Corrupt(key, "the record is missing")
	}
	return err
}

// find is get for a record that may be there.
func (tx *Tx) find(key []byte, read func(body []byte) error) (found bool, err error) {
	err = tx.get(key, func(body []byte) error {
		found = true
		return read(body)
	})
	if !found && errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return found, err
}
