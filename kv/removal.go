package kv

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/matrix"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// A removed node leaves a hole: its NodeID stays below NumNodes, and no other node gets it. A hole has no id, no edges
// and no values. Records of blocks of NodeIDs say which are holes. A store without holes has no such records.

// A block of removed nodes has a bit for each of so many NodeIDs.
const (
	removedPerBlock = 1 << 10
	wordsPerBlock   = removedPerBlock / 64
)

// A removedSet is the removed nodes of a snapshot. As a removed node never comes back, its size tells it from those of
// other snapshots of an open store.
type removedSet struct {
	count int
	nodes NodeSet
}

// Removed returns the set of removed nodes; it is nil if there are none. The set must not be changed. In an Update it
// is valid until the next RemoveNode.
func (tx *Tx) Removed() (NodeSet, error) {
	if err := tx.Err(); err != nil || tx.cat.Removed == 0 {
		return nil, err
	}
	if own := tx.removed.Load(); own != nil {
		return own.nodes, nil
	}
	set := tx.s.removed.Load()
	if set == nil || set.count != tx.cat.Removed {
		var err error
		if set, err = tx.readRemoved(); err != nil {
			return nil, err
		}
		if !tx.write {
			tx.s.removed.Store(set)
		}
	}
	tx.removed.Store(set)
	return set.nodes, nil
}

// readRemoved reads the removed nodes from the disk.
func (tx *Tx) readRemoved() (*removedSet, error) {
	blocks := bitset.New[NodeID](tx.cat.Nodes + removedPerBlock)
	for r, err := range tx.records().Scan(record.Prefix(record.KindRemoved, tx.cat.Graph), nil) {
		if err == nil {
			err = addRemoved(blocks, r)
		}
		if err != nil {
			return nil, err
		}
	}
	count := 0
	for v := range blocks.All() {
		if int64(v) >= int64(tx.cat.Nodes) {
			return nil, record.Corrupt(countsKey(), fmt.Sprintf("node number %d of %d is removed", v, tx.cat.Nodes))
		}
		count++
	}
	if count != tx.cat.Removed {
		return nil, record.Corrupt(countsKey(), fmt.Sprintf("%d nodes are removed, and it counts %d", count, tx.cat.Removed))
	}
	return &removedSet{tx.cat.Removed, blocks[:(tx.cat.Nodes+63)/64]}, nil
}

// addRemoved adds the nodes of a block to a set, which is long enough for blocks of which some nodes are there.
func addRemoved(set NodeSet, r record.Record) error {
	block, err := record.NumberAt(r.Key, 0)
	if err != nil {
		return err
	}
	first := int(block) * wordsPerBlock
	if len(r.Body) != 8*wordsPerBlock || first+wordsPerBlock > len(set) {
		return record.Corrupt(r.Key, "it is of another size, or its nodes are not there")
	}
	for i := range wordsPerBlock {
		set[first+i] = binary.LittleEndian.Uint64(r.Body[8*i:])
	}
	return nil
}

// putRemovedSet writes the blocks of a set of removed nodes of a generation.
func putRemovedSet(put func(key, body []byte) error, g record.Generation, set NodeSet) error {
	for block := range len(set)/wordsPerBlock + 1 {
		if err := putRemovedBlock(put, g, set, block); err != nil {
			return err
		}
	}
	return nil
}

// putRemovedBlock writes a block, unless no node of it is in the set.
func putRemovedBlock(put func(key, body []byte) error, g record.Generation, set NodeSet, block int) error {
	words := set[block*wordsPerBlock : min((block+1)*wordsPerBlock, len(set))]
	if words.Len() == 0 {
		return nil
	}
	body := make([]byte, 8*wordsPerBlock)
	for i, word := range words {
		binary.LittleEndian.PutUint64(body[8*i:], word)
	}
	return put(record.NumberKey(record.KindRemoved, g, uint32(block)), body)
}

// isRemoved reports whether a NodeID is that of a removed node.
func (tx *Tx) isRemoved(v NodeID) (bool, error) {
	if tx.cat.Removed == 0 {
		return false, nil
	}
	set, err := tx.Removed()
	return set.Has(v), err
}

// RemoveNode removes a node with its id, its edges, its values and its rows of matrices. NodeIDs of other nodes stay,
// and no node gets the NodeID of a removed one: a node of the same id that AddNode adds later is another node. It
// returns ErrNotFound for a node that is not there, and ErrIndexed as SetValue does. A node of very many edges is an
// ErrTxTooBig: use a Patch.
func (tx *Tx) RemoveNode(v NodeID) error {
	if err := tx.writable(); err != nil {
		return err
	}
	neighbors, err := tx.neighborsOf(v)
	if err != nil {
		return err
	}
	return tx.removeNode(v, neighbors)
}

// neighborsOf returns the neighbors of a node.
func (tx *Tx) neighborsOf(v NodeID) (neighbors []NodeID, err error) {
	for u, err := range tx.Neighbors(v) {
		if err != nil {
			return nil, err
		}
		neighbors = append(neighbors, u)
	}
	return neighbors, nil
}

// removeNode is RemoveNode of a node that has had these neighbors. Some of these edges may be gone since then.
func (tx *Tx) removeNode(v NodeID, neighbors []NodeID) error {
	id, err := tx.ID(v)
	if err != nil {
		return err
	}
	for _, step := range []func(v NodeID) error{
		func(v NodeID) error { return tx.isolate(v, neighbors) },
		tx.removeValues, tx.removeRows,
		func(v NodeID) error { return tx.dict().Remove(tx.records(), v, id) },
		tx.putRemoved,
	} {
		if err := step(v); err != nil {
			return tx.fail(fmt.Errorf("node %q: %w", id, err))
		}
	}
	return nil
}

// isolate removes the edges of a node to its neighbors.
func (tx *Tx) isolate(v NodeID, neighbors []NodeID) error {
	tx.touched.Of(edgesTouched).Add(v)
	for _, u := range neighbors {
		err := tx.changeEdge(v, u, func(codec.Arc) (codec.Arc, error) { return codec.Arc{}, nil })
		if err != nil {
			return err
		}
	}
	return nil
}

// removeValues sets the values of a node to null.
func (tx *Tx) removeValues(v NodeID) error {
	for _, column := range tx.Columns() {
		if err := tx.SetValue(v, column.Name, Value{}); err != nil {
			return err
		}
	}
	return nil
}

// removeRows has the rows of a node in all matrices read as if they were never written.
func (tx *Tx) removeRows(v NodeID) error {
	for _, name := range tx.Matrices() {
		m, err := tx.Matrix(name)
		if err != nil {
			return err
		}
		row := make([]float32, m.Width())
		if err := m.Read(Range{First: v, End: v + 1}, 0, m.Width(), row); err != nil {
			return err
		}
		if isUnwritten(row) {
			continue
		}
		codec.FillWith(row, float32(math.NaN()))
		if err := tx.putRow(name, v, row); err != nil {
			return err
		}
	}
	return nil
}

// putRemoved puts a node among the removed ones.
func (tx *Tx) putRemoved(v NodeID) error {
	before, err := tx.Removed()
	if err != nil {
		return err
	}
	counts, err := tx.count()
	if err != nil {
		return err
	}
	counts.Removed++
	own := &removedSet{counts.Removed, before}
	if !tx.removes || len(before) < (tx.cat.Nodes+63)/64 { // else it is the transaction's own
		own.nodes = bitset.New[NodeID](tx.cat.Nodes)
		copy(own.nodes, before)
		tx.removes = true
	}
	own.nodes.Add(v)
	tx.removed.Store(own)
	return putRemovedBlock(tx.put, tx.cat.Graph, own.nodes, int(v)/removedPerBlock)
}

// putRow writes a changed row of a matrix as it is.
func (tx *Tx) putRow(name string, v NodeID, row []float32) error {
	entry := tx.cat.Matrices[name]
	if !entry.Deltas {
		c, err := tx.change()
		if err != nil {
			return err
		}
		entry.Deltas = true
		c.Matrices[name] = entry
	}
	tx.touched.Of(matrixTouched(name)).Add(v)
	return snapshot.PutChain(tx.records(), matrix.DeltaKey(entry.Generation, v), matrix.AppendRow(nil, row))
}

// checkNumber returns ErrNotFound unless v is below the number of nodes, ErrClosed if the transaction has ended.
func (tx *Tx) checkNumber(v NodeID) error {
	if err := tx.Err(); err != nil {
		return err
	}
	if int64(v) >= int64(tx.cat.Nodes) {
		return fmt.Errorf("node number %d of %d: %w", v, tx.cat.Nodes, ErrNotFound)
	}
	return nil
}

// checkNode returns ErrNotFound unless v is a node, ErrClosed if the transaction has ended.
func (tx *Tx) checkNode(v NodeID) error {
	if err := tx.checkNumber(v); err != nil {
		return err
	}
	removed, err := tx.isRemoved(v)
	if err == nil && removed {
		err = fmt.Errorf("node number %d: it was removed: %w", v, ErrNotFound)
	}
	return err
}
