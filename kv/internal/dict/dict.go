// Package dict finds the nodes of external ids and of places in the node file, and back. It knows nothing of what
// else a node has.
package dict

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// MaxID is the most that an id takes, in bytes.
const MaxID = 1 << 10

// The dictionary is on disk and never wholly in memory. Of the nodes of the load it holds
//
//	position → external id    blocks of IDsPerBlock ids in the order of the node file
//	external id → position    buckets by a hash of the id: for each id 32 more bits of the hash, and the position
//	position → NodeID         blocks of NumbersPerBlock numbers
//	NodeID → position         blocks of NumbersPerBlock numbers
//
// so that every direction costs one to three fetches by key. If the ids are 0, 1, 2, … in file order, an id is its
// position, and neither ids nor buckets are stored. A node added later has one record for each direction of its id; its
// position is its NodeID, since both count on.
const (
	IDsPerBlock     = 256
	NumbersPerBlock = 1024 // a small block, since its checksum is over all of it
	idsPerBucket    = 256  // on average
	BucketEntry     = 8    // bytes
)

// A Dict is the dictionary of a snapshot.
type Dict struct {
	Records     snapshot.Reader
	Generation  record.Generation // of the graph
	Nodes       int
	LoadedNodes int  // the nodes of the load; the rest were added since
	Dense       bool // the id of a node of the load is its position
	Reused      bool // the id of a removed node may be that of an added one
}

// AddedNodeKey is the key of the id of a node that was added.
func AddedNodeKey(g record.Generation, v record.NodeID) []byte {
	return record.NumberKey(record.KindAddedNode, g, uint32(v))
}

func addedIDKey(g record.Generation, id string) []byte {
	return append(record.Prefix(record.KindAddedID, g), id...)
}

// Add writes the records of a node that is added.
func (d *Dict) Add(w snapshot.Writer, v record.NodeID, id string) error {
	err := w.Put(AddedNodeKey(d.Generation, v), []byte(id))
	if err == nil {
		err = w.Put(addedIDKey(d.Generation, id), binary.AppendUvarint(nil, uint64(v)))
	}
	return err
}

// Remove removes the records that Add writes. A node of the load keeps its records.
func (d *Dict) Remove(w snapshot.Writer, v record.NodeID, id string) error {
	if int(v) < d.LoadedNodes {
		return nil
	}
	err := w.Remove(AddedNodeKey(d.Generation, v))
	if err == nil {
		err = w.Remove(addedIDKey(d.Generation, id))
	}
	return err
}

// Position is the place of an id in file order, or −1. It may be that of a removed node of the load.
func (d *Dict) Position(id string) (int, error) {
	if len(id) == 0 || len(id) > MaxID {
		return -1, nil
	}
	dense := -1
	if d.Dense {
		if k, ok := Integer(id); ok && 0 <= k && k < int64(d.LoadedNodes) {
			dense = int(k)
		}
		if dense >= 0 && !d.Reused {
			return dense, nil
		}
	}
	if d.Nodes > d.LoadedNodes {
		key := addedIDKey(d.Generation, id)
		var v uint64
		found, err := snapshot.Find(d.Records, key, func(body []byte) error {
			var n int
			if v, n = binary.Uvarint(body); n != len(body) || v < uint64(d.LoadedNodes) || v >= uint64(d.Nodes) {
				return record.Corrupt(key, fmt.Sprintf("it names node number %d, want %d to %d", v, d.LoadedNodes, d.Nodes-1))
			}
			return nil
		})
		if found || err != nil {
			return int(v), err
		}
	}
	if d.Dense || d.LoadedNodes == 0 {
		return dense, nil
	}
	return d.lookupID(id)
}

// lookupID finds the position of an id of the load in its bucket, or −1.
func (d *Dict) lookupID(id string) (int, error) {
	hash := Hash(id)
	name := snapshot.Name{Kind: record.KindIDLookup, Generation: d.Generation, A: BucketOf(hash, Buckets(d.LoadedNodes))}
	body, err := snapshot.Lookup(d.Records, name)
	if err != nil {
		return -1, err
	}
	if len(body)%BucketEntry != 0 {
		return -1, record.Corrupt(name.Key(), fmt.Sprintf("it has %d bytes, want a multiple of %d", len(body), BucketEntry))
	}
	for ; len(body) > 0; body = body[BucketEntry:] {
		if binary.LittleEndian.Uint32(body) != uint32(hash) {
			continue
		}
		position := binary.LittleEndian.Uint32(body[4:])
		if int64(position) >= int64(d.LoadedNodes) {
			return -1, record.Corrupt(name.Key(), fmt.Sprintf("it names position %d of %d", position, d.LoadedNodes))
		}
		r := d.Once()
		got, err := r.loaded(int(position))
		if err != nil {
			return -1, err
		}
		if string(got) == id {
			return int(position), nil
		}
	}
	return -1, nil
}

// Numbers appends a whole block of numbers to dst.
func (d *Dict) Numbers(k record.Kind, block int, dst []uint32) ([]uint32, error) {
	err := snapshot.Need(d.Records, record.NumberKey(k, d.Generation, uint32(block)),
		func(body []byte) error {
			if err := d.checkNumbers(k, block, body); err != nil {
				return err
			}
			for i := range len(body) / 4 {
				n, err := d.numberIn(k, block, body, i)
				if err != nil {
					return err
				}
				dst = append(dst, n)
			}
			return nil
		})
	return dst, err
}

// checkNumbers returns an error if a block of numbers is not as long as it should be.
func (d *Dict) checkNumbers(k record.Kind, block int, body []byte) error {
	if want := 4 * min(NumbersPerBlock, d.LoadedNodes-block*NumbersPerBlock); len(body) != want {
		key := record.NumberKey(k, d.Generation, uint32(block))
		return record.Corrupt(key, fmt.Sprintf("it has %d bytes, want %d", len(body), want))
	}
	return nil
}

func (d *Dict) numberIn(k record.Kind, block int, body []byte, i int) (uint32, error) {
	n := binary.LittleEndian.Uint32(body[4*i:])
	if int64(n) >= int64(d.LoadedNodes) {
		return 0, record.Corrupt(record.NumberKey(k, d.Generation, uint32(block)),
			fmt.Sprintf("it has %d, want less than %d", n, d.LoadedNodes))
	}
	return n, nil
}

// Integer parses an id that is an integer in its shortest form.
func Integer(id string) (int64, bool) {
	digits := strings.TrimPrefix(id, "-")
	if digits == "" || len(digits) > 19 || digits[0] == '0' && id != "0" {
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
	if len(digits) < len(id) {
		return -int64(n), n <= 1<<63
	}
	return int64(n), n <= math.MaxInt64
}

// Hash is FNV-1a, its bits mixed so that the upper ones, which choose the bucket, depend on all of the id.
func Hash(id string) uint64 {
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

// Buckets is the number of lookup buckets for so many ids.
func Buckets(ids int) int { return (ids + idsPerBucket - 1) / idsPerBucket }

// BucketOf keeps the order of hashes, so that ids sorted by hash fill one bucket after another.
func BucketOf(hash uint64, buckets int) uint32 {
	bucket, _ := bits.Mul64(hash, uint64(buckets))
	return uint32(bucket)
}
