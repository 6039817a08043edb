package kv

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A recordName names a record of a generation. Such a record never changes once it is written, and no generation's
// number is used twice, so what was read under a name once is right for every snapshot that still asks for it.
type recordName struct {
	kind       record.Kind
	generation record.Generation
	a, b       uint32 // block, and part of an adjacency block
}

// key is the record's key, of a record that is no chain.
func (n recordName) key() []byte {
	if n.kind == record.KindAdjacency || n.kind == record.KindArcs {
		return record.PairKey(n.kind, n.generation, n.a, n.b)
	}
	return record.NumberKey(n.kind, n.generation, n.a)
}

// A keptRecord is a record whose checksum was compared. Nobody changes it.
type keptRecord struct {
	name   recordName
	body   []byte
	column *codec.Column // of a column block: body parsed, which it borrows
	used   atomic.Bool   // since the hand of the clock last passed it
}

// size is what a record takes in memory, in bytes.
func (r *keptRecord) size() int64 {
	const overhead = 192 // of the struct, its place in the ring and in the map
	size := int64(cap(r.body)) + overhead
	if r.column != nil {
		size += int64(4 * cap(r.column.Ends))
	}
	return size
}

const (
	cacheShards    = 8 // half of them for adjacency, of which there is so much more that it would crowd out the rest
	cacheShareLog2 = 3 // the cache takes an eighth of the memory budget
)

// A recordCache keeps the records that were last looked up, so that asking for one node costs neither a search in
// Badger's tables nor its copies of the record nor the checksum. Scans, which read every record once, pass it by. Which
// record goes is decided by a clock: its hand passes over those that were used since it last came by.
type recordCache struct{ shards [cacheShards]cacheShard }

type cacheShard struct {
	mu           sync.RWMutex
	hits, misses atomic.Int64 // on the line of mu, which every lookup writes to anyway

	limit   int64 // bytes
	size    int64
	records map[recordName]*keptRecord
	ring    []*keptRecord
	hand    int
}

func newRecordCache(budget int64) *recordCache {
	c := new(recordCache)
	for i := range c.shards {
		c.shards[i].limit = budget >> cacheShareLog2 / cacheShards
		c.shards[i].records = map[recordName]*keptRecord{}
	}
	return c
}

func (c *recordCache) shard(name recordName) *cacheShard {
	h := uint64(name.a)<<32 | uint64(name.generation)<<8 | uint64(name.kind)
	h ^= uint64(name.b) * 0x9e3779b97f4a7c15
	hi, lo := bits.Mul64(h, 0x9e3779b97f4a7c15)
	shard := (hi ^ lo) % (cacheShards / 2)
	if name.kind == record.KindAdjacency || name.kind == record.KindArcs {
		shard += cacheShards / 2
	}
	return &c.shards[shard]
}

// get returns the record of a name, or nil.
func (c *recordCache) get(name recordName) *keptRecord {
	s := c.shard(name)
	s.mu.RLock()
	r := s.records[name]
	s.mu.RUnlock()
	if r == nil {
		s.misses.Add(1)
		return nil
	}
	s.hits.Add(1)
	if !r.used.Load() { // a store to what others read would cost them a cache line
		r.used.Store(true)
	}
	return r
}

// lookups counts the records that were asked for, those that were there and those that were not.
func (c *recordCache) lookups() (hits, misses int64) {
	for i := range c.shards {
		hits += c.shards[i].hits.Load()
		misses += c.shards[i].misses.Load()
	}
	return hits, misses
}

// add keeps a record where it is not too large to be worth it.
func (c *recordCache) add(r *keptRecord) {
	s, size := c.shard(r.name), r.size()
	s.mu.Lock()
	defer s.mu.Unlock()
	if size > s.limit/4 || s.records[r.name] != nil {
		return
	}
	for s.size+size > s.limit {
		s.evict()
	}
	s.records[r.name] = r
	s.ring = append(s.ring, r)
	s.size += size
}

// evict drops one record, of which there is at least one.
func (s *cacheShard) evict() {
	for ; ; s.hand++ {
		if s.hand >= len(s.ring) {
			s.hand = 0
		}
		r := s.ring[s.hand]
		if r.used.Swap(false) {
			continue
		}
		last := len(s.ring) - 1
		s.ring[s.hand], s.ring[last] = s.ring[last], nil
		s.ring = s.ring[:last]
		s.hand++ // over the record that takes the place: it is the newest
		delete(s.records, r.name)
		s.size -= r.size()
		return
	}
}

// lookup returns a record that must be there, from memory where it was looked up before.
func (tx *Tx) lookup(name recordName) (*keptRecord, error) {
	if r := tx.records.get(name); r != nil {
		return r, nil
	}
	r := &keptRecord{name: name}
	err := tx.need(name.key(), func(body []byte) error {
		r.body = body
		return nil
	})
	if err != nil {
		return nil, err
	}
	tx.records.add(r)
	return r, nil
}

// lookupColumn is lookup for a block of a column, which is not changed.
func (tx *Tx) lookupColumn(entry columnEntry, number uint32) (*codec.Column, error) {
	name := recordName{kind: record.KindColumn, generation: entry.Generation, a: number}
	if r := tx.records.get(name); r != nil {
		return r.column, nil
	}
	r := &keptRecord{name: name, column: new(codec.Column)}
	err := getFunc(tx.get).columnBody(entry, number, func(body []byte) error {
		r.body = body
		return entry.parse(number, r.body, r.column)
	})
	if err != nil {
		return nil, err
	}
	tx.records.add(r)
	return r.column, nil
}
