package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// dictionary checks that positions and NodeIDs are each other's inverse, and ids and positions too. If the blocks of
// both directions, read one after the other, hold the same pairs, that is so for all nodes of the load; otherwise each
// node is looked up, to say which is wrong.
func (c *checker) dictionary(ctx context.Context) error {
	cat := c.tx.cat
	blocks := func(rows int) int { return (cat.LoadedNodes + rows - 1) / rows }
	c.count(record.KindNodeAt, blocks(dict.NumbersPerBlock))
	c.count(record.KindPosition, blocks(dict.NumbersPerBlock))
	added := cat.Nodes - cat.LoadedNodes
	for v := cat.LoadedNodes; v < cat.Nodes; v++ {
		added -= codec.Bit(c.removed.Has(NodeID(v)))
	}
	if cat.Removed == 0 {
		c.count(record.KindRemoved, 0)
	}
	c.count(record.KindAddedNode, added)
	c.count(record.KindAddedID, added)
	if cat.DenseIDs {
		c.count(record.KindIDs, 0)
		c.count(record.KindIDLookup, 0)
	} else {
		c.count(record.KindIDs, blocks(dict.IDsPerBlock))
		c.count(record.KindIDLookup, dict.Buckets(cat.LoadedNodes))
		if want := cat.LoadedNodes - cat.Unnamed; c.scan.entries != int64(want) {
			c.problem("id lookup buckets", "they hold %d ids, want %d", c.scan.entries, want)
		}
	}
	inverse, err := c.positions(ctx)
	if err != nil {
		return err
	}
	found, err := c.ids(ctx)
	if err != nil {
		return err
	}
	first := cat.LoadedNodes
	if !inverse || !found {
		first = 0
	}
	ids := c.tx.dict().Reader()
	for position := first; position < cat.Nodes; position++ {
		if position%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := c.found("dictionary", c.node(ids, position)); err != nil {
			return err
		}
	}
	return nil
}

// positions reports whether the two directions between the positions and the NodeIDs of the load agree.
func (c *checker) positions(ctx context.Context) (agree bool, err error) {
	var at, back fingerprint // of the pairs, position first
	agree = true
	var block []uint32
	for first := 0; first < c.tx.cat.LoadedNodes; first += dict.NumbersPerBlock {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		for _, k := range []record.Kind{record.KindNodeAt, record.KindPosition} {
			block, err = c.tx.dict().Numbers(k, first/dict.NumbersPerBlock, block[:0])
			agree = agree && err == nil
			if err := c.found("dictionary", err); err != nil {
				return false, err
			}
			for i, n := range block {
				if k == record.KindNodeAt {
					at.add(uint64(first+i), uint64(n))
				} else {
					back.add(uint64(n), uint64(first+i))
				}
			}
		}
	}
	return agree && at == back, nil
}

// ids checks every id by itself, and reports whether the lookup buckets hold those of the load and nothing else.
func (c *checker) ids(ctx context.Context) (agree bool, err error) {
	cat := c.tx.cat
	var want fingerprint
	agree = true
	integers, unnamed := true, 0
	ids := c.tx.dict().Reader()
	for position := range cat.Nodes {
		if position%contextEvery == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		if position >= cat.LoadedNodes && c.removed.Has(NodeID(position)) {
			continue
		}
		id, err := ids.AtPosition(position)
		if err == nil && id == "" && cat.Unnamed > 0 {
			_, err = c.tx.NodeAt(position)
			if errors.Is(err, ErrNotFound) {
				unnamed++
				continue
			}
		}
		if err != nil {
			agree = false
			if err := c.found("dictionary", err); err != nil {
				return false, err
			}
			continue
		}
		if err := validateID(id); err != nil {
			c.problem("dictionary", "position %d: %v", position, err)
		}
		_, integer := dict.Integer(id)
		integers = integers && integer
		if !cat.DenseIDs && position < cat.LoadedNodes {
			hash := dict.Hash(id)
			want.add(bucketPair(uint32(hash), uint32(position)), uint64(dict.BucketOf(hash, dict.Buckets(cat.LoadedNodes))))
		}
	}
	// ids that are removed may have been no integers
	if integers != cat.IntegerIDs && (cat.IntegerIDs || cat.Removed == 0) {
		c.problem("catalogue", "that every id is an integer: it says %v, want %v", cat.IntegerIDs, integers)
	}
	if !cat.DenseIDs && agree && unnamed != cat.Unnamed {
		c.problem("catalogue", "it says that %d removed nodes have no ids, want %d", cat.Unnamed, unnamed)
	}
	if cat.DenseIDs {
		return agree, nil
	}
	got, sound, err := c.lookup(ctx)
	return agree && sound && got == want, err
}

// bucketPair is an entry of a lookup bucket in one number.
func bucketPair(hash, position uint32) uint64 { return uint64(hash)<<32 | uint64(position) }

// lookup reads the buckets of ids. Ids whose hashes are the same are looked up: they must be different ids.
func (c *checker) lookup(ctx context.Context) (all fingerprint, sound bool, err error) {
	ids := c.tx.dict().Reader()
	sound = true
	var pairs []uint64
	for bucket := range dict.Buckets(c.tx.cat.LoadedNodes) {
		if err := ctx.Err(); err != nil {
			return all, false, err
		}
		pairs = pairs[:0]
		err := snapshot.Need(c.tx.records(), record.NumberKey(record.KindIDLookup, c.tx.cat.Graph, uint32(bucket)),
			func(body []byte) error {
				for ; len(body) >= dict.BucketEntry; body = body[dict.BucketEntry:] {
					pair := bucketPair(binary.LittleEndian.Uint32(body), binary.LittleEndian.Uint32(body[4:]))
					all.add(pair, uint64(bucket))
					pairs = append(pairs, pair)
				}
				return nil
			})
		sound = sound && err == nil
		if err := c.found("dictionary", err); err != nil {
			return all, false, err
		}
		slices.Sort(pairs)
		for i := 1; i < len(pairs); i++ {
			position := uint32(pairs[i])
			if pairs[i-1]>>32 != pairs[i]>>32 || int64(position) >= int64(c.tx.cat.LoadedNodes) {
				continue
			}
			// Looking an id up finds the first of its positions in the bucket, so that one of two is not found.
			for _, p := range []int{int(uint32(pairs[i-1])), int(position)} {
				if err := c.found("dictionary", c.node(ids, p)); err != nil {
					return all, false, err
				}
			}
		}
	}
	return all, sound, nil
}

// node checks the node at a position by looking it up in all directions.
func (c *checker) node(ids *dict.Reader, position int) error {
	v, err := c.tx.dict().NodeAt(position)
	if err != nil || c.removed.Has(v) {
		return err
	}
	back, err := c.tx.Position(v)
	if err != nil {
		return err
	}
	if back != position {
		c.problem("dictionary", "position %d is node number %d, which says it is at %d", position, v, back)
		return nil
	}
	id, err := ids.AtPosition(position)
	if err != nil {
		return err
	}
	found, err := c.tx.dict().Position(id)
	if err != nil {
		return err
	}
	if found != position {
		c.problem("dictionary", "node %q is at position %d, and looking it up finds %d", id, position, found)
	}
	return nil
}

// A fingerprint is a sum of 128-bit hashes of pairs, the same in any order: two that agree are of the same pairs.
type fingerprint struct{ low, high uint64 }

func (f *fingerprint) add(a, b uint64) {
	// Two multiplications by odd constants, folded: each half depends on every bit of the pair.
	high, low := bits.Mul64(a^0x9e3779b97f4a7c15, b<<1^0xa0761d6478bd642f)
	first := high ^ low
	high, low = bits.Mul64(a^0xe7037ed1a0b428db, first|1)
	var carry uint64
	f.low, carry = bits.Add64(f.low, first, 0)
	f.high, _ = bits.Add64(f.high, high^low, carry)
}
