package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// The dictionary is on disk and never wholly in memory. Of the nodes of the load it holds
//
//	position → external id    blocks of idsPerBlock ids in the order of the node file
//	external id → position    buckets by a hash of the id: for each id 32 more bits of the hash, and the position
//	position → NodeID         blocks of numbersPerBlock numbers
//	NodeID → position         blocks of numbersPerBlock numbers
//
// so that every direction costs one to three fetches by key. Where the ids are 0, 1, 2, … in file order, an id is its
// position, and neither ids nor buckets are stored. A node added later has one record for each direction of its id; its
// position is its NodeID, since both count on.
const (
	idsPerBlock     = 256
	numbersPerBlock = 1024 // a small block, since Badger copies what it hands out
	idsPerBucket    = 256  // on average
	bucketEntry     = 8    // bytes
)

func addedNodeKey(g record.Generation, v NodeID) []byte {
	return record.NumberKey(record.KindAddedNode, g, uint32(v))
}

func addedIDKey(g record.Generation, id string) []byte {
	return append(record.Prefix(record.KindAddedID, g), id...)
}

// Node returns the node of an external id; ErrNotFound where there is none.
func (tx *Tx) Node(id string) (NodeID, error) {
	if err := tx.Err(); err != nil {
		return 0, err
	}
	position, err := tx.position(id)
	if err == nil && position >= 0 {
		return tx.NodeAt(position)
	}
	if err == nil {
		err = fmt.Errorf("node %q: %w", firstRunes(id, MaxID), ErrNotFound)
	}
	return 0, err
}

// position is the place of an id in file order, or −1.
func (tx *Tx) position(id string) (int, error) {
	if len(id) == 0 || len(id) > MaxID {
		return -1, nil
	}
	if tx.cat.DenseIDs {
		if k, ok := integerID(id); ok && 0 <= k && k < int64(tx.cat.LoadedNodes) {
			return int(k), nil
		}
	}
	if tx.cat.Nodes > tx.cat.LoadedNodes {
		key := addedIDKey(tx.cat.Graph, id)
		var v uint64
		found, err := tx.find(key, func(body []byte) error {
			var n int
			if v, n = binary.Uvarint(body); n != len(body) || v < uint64(tx.cat.LoadedNodes) || v >= uint64(tx.cat.Nodes) {
				return record.Corrupt(key, fmt.Sprintf("it names node number %d, want %d to %d", v, tx.cat.LoadedNodes, tx.cat.Nodes-1))
			}
			return nil
		})
		if found || err != nil {
			return int(v), err
		}
	}
	if tx.cat.DenseIDs || tx.cat.LoadedNodes == 0 {
		return -1, nil
	}
	return tx.lookupID(id)
}

// lookupID finds the position of an id of the load in its bucket, or −1.
func (tx *Tx) lookupID(id string) (int, error) {
	hash := hashID(id)
	name := recordName{kind: record.KindIDLookup, generation: tx.cat.Graph, a: bucketOf(hash, buckets(tx.cat.LoadedNodes))}
	r, err := tx.lookup(name)
	if err != nil {
		return -1, err
	}
	body := r.body
	if len(body)%bucketEntry != 0 {
		return -1, record.Corrupt(name.key(), fmt.Sprintf("it has %d bytes, want a multiple of %d", len(body), bucketEntry))
	}
	for ; len(body) > 0; body = body[bucketEntry:] {
		if binary.LittleEndian.Uint32(body) != uint32(hash) {
			continue
		}
		position := binary.LittleEndian.Uint32(body[4:])
		if int64(position) >= int64(tx.cat.LoadedNodes) {
			return -1, record.Corrupt(name.key(), fmt.Sprintf("it names position %d of %d", position, tx.cat.LoadedNodes))
		}
		got, err := tx.loadedID(int(position))
		if err != nil {
			return -1, err
		}
		if string(got) == id {
			return int(position), nil
		}
	}
	return -1, nil
}

// loadedID returns the id at a position of the load, where ids are stored; borrowed, and not to be changed.
func (tx *Tx) loadedID(position int) ([]byte, error) {
	name := recordName{kind: record.KindIDs, generation: tx.cat.Graph, a: uint32(position / idsPerBlock)}
	r, err := tx.lookup(name)
	if err != nil {
		return nil, err
	}
	begin, end, text := 0, 0, r.body
	block := position / idsPerBlock * idsPerBlock
	for k := block; k < min(block+idsPerBlock, tx.cat.LoadedNodes); k++ {
		length, n := binary.Uvarint(text)
		if n <= 0 || length > MaxID {
			return nil, record.Corrupt(name.key(), fmt.Sprintf("id %d of it has no length", k-block))
		}
		if k < position {
			begin += int(length)
		} else if k == position {
			end = begin + int(length)
		}
		text = text[n:]
	}
	if end > len(text) {
		return nil, record.Corrupt(name.key(), fmt.Sprintf("its ids have %d bytes, want %d", len(text), end))
	}
	return text[begin:end], nil
}

// ID returns the external id of a node.
func (tx *Tx) ID(v NodeID) (string, error) {
	position, err := tx.Position(v)
	if err != nil {
		return "", err
	}
	if position >= tx.cat.LoadedNodes || tx.cat.DenseIDs {
		return tx.newIDReader().atPosition(position)
	}
	id, err := tx.loadedID(position)
	return string(id), err
}

// Position returns the place of a node in the node file, from 0; nodes added later follow.
func (tx *Tx) Position(v NodeID) (int, error) {
	if err := tx.checkNode(v); err != nil {
		return 0, err
	}
	if int(v) >= tx.cat.LoadedNodes {
		return int(v), nil
	}
	position, err := tx.number(record.KindPosition, int(v))
	return int(position), err
}

// NodeAt returns the node at a place in the node file; it is the inverse of Position.
func (tx *Tx) NodeAt(position int) (NodeID, error) {
	if err := tx.Err(); err != nil {
		return 0, err
	}
	if position < 0 || position >= tx.cat.Nodes {
		return 0, fmt.Errorf("node at position %d of %d: %w", position, tx.cat.Nodes, ErrNotFound)
	}
	if position >= tx.cat.LoadedNodes {
		return NodeID(position), nil
	}
	v, err := tx.number(record.KindNodeAt, position)
	return NodeID(v), err
}

// InFileOrder yields every NodeID in the order of the node file, then the nodes added later. On failure it yields the
// error once, and stops.
func (tx *Tx) InFileOrder() iter.Seq2[NodeID, error] {
	return func(yield func(NodeID, error) bool) {
		if err := tx.Err(); err != nil {
			yield(0, err)
			return
		}
		var block []uint32
		for first := 0; first < tx.cat.LoadedNodes; first += numbersPerBlock {
			var err error
			if block, err = tx.numbers(record.KindNodeAt, first/numbersPerBlock, block[:0]); err != nil {
				yield(0, err)
				return
			}
			for _, v := range block {
				if !yield(NodeID(v), nil) {
					return
				}
			}
		}
		for v := tx.cat.LoadedNodes; v < tx.cat.Nodes; v++ {
			if !yield(NodeID(v), nil) {
				return
			}
		}
	}
}

// number reads one number of a column of kind KindNodeAt or KindPosition.
func (tx *Tx) number(k record.Kind, i int) (n uint32, err error) {
	block := i / numbersPerBlock
	r, err := tx.lookup(recordName{kind: k, generation: tx.cat.Graph, a: uint32(block)})
	if err == nil {
		err = tx.checkNumbers(k, block, r.body)
	}
	if err != nil {
		return 0, err
	}
	return tx.numberIn(k, block, r.body, i%numbersPerBlock)
}

// numbers appends a whole block of numbers to dst.
func (tx *Tx) numbers(k record.Kind, block int, dst []uint32) ([]uint32, error) {
	err := tx.need(record.NumberKey(k, tx.cat.Graph, uint32(block)), func(body []byte) error {
		if err := tx.checkNumbers(k, block, body); err != nil {
			return err
		}
		for i := range len(body) / 4 {
			n, err := tx.numberIn(k, block, body, i)
			if err != nil {
				return err
			}
			dst = append(dst, n)
		}
		return nil
	})
	return dst, err
}

// checkNumbers returns an error where a block of numbers is not as long as it should be.
func (tx *Tx) checkNumbers(k record.Kind, block int, body []byte) error {
	if want := 4 * min(numbersPerBlock, tx.cat.LoadedNodes-block*numbersPerBlock); len(body) != want {
		key := record.NumberKey(k, tx.cat.Graph, uint32(block))
		return record.Corrupt(key, fmt.Sprintf("it has %d bytes, want %d", len(body), want))
	}
	return nil
}

func (tx *Tx) numberIn(k record.Kind, block int, body []byte, i int) (uint32, error) {
	n := binary.LittleEndian.Uint32(body[4*i:])
	if int64(n) >= int64(tx.cat.LoadedNodes) {
		return 0, record.Corrupt(record.NumberKey(k, tx.cat.Graph, uint32(block)), fmt.Sprintf("it has %d, want less than %d", n, tx.cat.LoadedNodes))
	}
	return n, nil
}

// IDs yields every external id in the order of InFileOrder. On failure it yields the error once, and stops.
func (tx *Tx) IDs() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := tx.Err(); err != nil {
			yield("", err)
			return
		}
		ids := tx.newIDReader()
		for position := range tx.cat.Nodes {
			id, err := ids.atPosition(position)
			if !yield(id, err) || err != nil {
				return
			}
		}
	}
}

// AddNode adds a node without edges, numbered after all others. Values must be empty: use SetValue. An id that is
// taken is an ErrExists, one that cannot be an id an ErrInvalidID. The first id that is no integer turns the column id into
// text: IntegerIDs says whether that has happened.
func (tx *Tx) AddNode(n Node) (NodeID, error) {
	if err := tx.writable(); err != nil {
		return 0, err
	}
	if len(n.Values) > 0 {
		return 0, fmt.Errorf("node %q: %w: values are set by SetValue", n.ID, ErrInvalidValue)
	}
	if err := validateID(n.ID); err != nil {
		return 0, err
	}
	switch _, err := tx.Node(n.ID); {
	case err == nil:
		return 0, fmt.Errorf("node %q: %w", n.ID, ErrExists)
	case !errors.Is(err, ErrNotFound):
		return 0, err
	}
	if tx.cat.Nodes >= maxNodes {
		return 0, fmt.Errorf("node %q: the store is full: it has %d nodes", n.ID, tx.cat.Nodes)
	}
	g, err := tx.graphForWrite()
	if err != nil {
		return 0, fmt.Errorf("node %q: %w", n.ID, err)
	}
	v := NodeID(tx.cat.Nodes)
	if err := tx.put(addedNodeKey(g, v), []byte(n.ID)); err != nil {
		return 0, err
	}
	if err := tx.put(addedIDKey(g, n.ID), binary.AppendUvarint(nil, uint64(v))); err != nil {
		return 0, err
	}
	counts, err := tx.count()
	if err != nil {
		return 0, err
	}
	_, integer := integerID(n.ID)
	counts.IntegerIDs = counts.IntegerIDs && integer
	counts.Nodes++
	if n.Label != "" {
		if err := tx.SetLabel(v, n.Label); err != nil {
			return 0, tx.fail(fmt.Errorf("node %q: %w", n.ID, err))
		}
	}
	return v, nil
}

// graphForWrite is the generation of the graph, which a graph without one is given.
func (tx *Tx) graphForWrite() (record.Generation, error) {
	if tx.cat.Graph != 0 {
		return tx.cat.Graph, nil
	}
	c, err := tx.change()
	if err != nil {
		return 0, err
	}
	c.Graph, err = c.newGeneration()
	return c.Graph, err
}

// maxNodes leaves the end of a full range a NodeID, also that of its last block, of a column, a matrix or the numbers.
const maxNodes = math.MaxUint32 + 1 - codec.ColumnRows

// integerID parses an id that is an integer in its shortest form.
func integerID(id string) (int64, bool) {
	digits := id
	if digits != "" && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && id != "0" {
		return 0, false
	}
	n := uint64(0) // 19 digits fit
	for i := range len(digits) {
		c := digits[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = 10*n + uint64(c)
	}
	if len(digits) == len(id) {
		return int64(n), n <= math.MaxInt64
	}
	return -int64(n), n <= 1<<63
}

// hashID is FNV-1a, its bits mixed so that the upper ones, which choose the bucket, depend on all of the id.
func hashID(id string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// buckets is the number of lookup buckets for so many ids.
func buckets(ids int) int { return (ids + idsPerBucket - 1) / idsPerBucket }

// bucketOf keeps the order of hashes, so that ids sorted by hash fill one bucket after another.
func bucketOf(hash uint64, buckets int) uint32 {
	bucket, _ := bits.Mul64(hash, uint64(buckets))
	return uint32(bucket)
}
