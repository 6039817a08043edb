package snapshot

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Name names a record of a generation. Such a record never changes once it is committed, so what was
// read under a name once is right for every snapshot that still asks for it.
type Name struct {
	Kind       record.Kind
	Generation record.Generation
	A, B       uint32 // block; of a matrix block, and tile
}

// Key is the key of the record, or the prefix of the keys of a chain.
func (n Name) Key() []byte {
	switch n.Kind {
	case record.KindMatrix:
		return record.PairKey(n.Kind, n.Generation, n.A, n.B)
	}
	return record.NumberKey(n.Kind, n.Generation, n.A)
}

// An Entry is a record of a Cache. Its checksum was compared. Nobody changes it.
type Entry struct {
	Name Name
	Body []byte

	// Value, if not nil, is decoded from Body, which it borrows. It takes ValueSize bytes.
	Value     any
	ValueSize int64

	used atomic.Bool // since it was last spared
}

// size is the memory of a record, in bytes.
func (r *Entry) size() int64 {
	const overhead = 192 // of the struct and its place in the map
	return int64(cap(r.Body)) + r.ValueSize + overhead
}

const (
	cacheShards    = 8 // half of them for adjacency, of which there is so much more that it would crowd out the rest
	cacheShareLog2 = 3 // the cache takes an eighth of the memory budget
)

// A Cache keeps the records that were last looked up, so that asking for one node costs neither a search
// in tables nor a copy of the record nor the checksum. Scans, which read every record once, pass it by. A
// record that goes is one of no order that was not used for a while.
type Cache struct{ shards [cacheShards]cacheShard }

type cacheShard struct {
	mu      sync.RWMutex
	limit   int64 // bytes
	size    int64
	records map[Name]*Entry
}

// NewCache makes a cache that takes its share of a memory budget.
func NewCache(budget int64) *Cache {
	c := new(Cache)
	for i := range c.shards {
		c.shards[i].limit = budget >> cacheShareLog2 / cacheShards
		c.shards[i].records = map[Name]*Entry{}
	}
	return c
}

func (n Name) hash() uint64 {
	h := uint64(n.A)<<32 | uint64(n.Generation)<<8 | uint64(n.Kind)
	h ^= uint64(n.B) * 0x9e3779b97f4a7c15
	hi, lo := bits.Mul64(h, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

func (c *Cache) shard(name Name) *cacheShard {
	shard := name.hash() % (cacheShards / 2)
	if name.Kind == record.KindAdjacency || name.Kind == record.KindArcs {
		shard += cacheShards / 2
	}
	return &c.shards[shard]
}

// Get returns the record of a name, or nil.
func (c *Cache) Get(name Name) *Entry {
	s := c.shard(name)
	s.mu.RLock()
	r := s.records[name]
	s.mu.RUnlock()
	if r == nil {
		return nil
	}
	if !r.used.Load() { // a store to what others read would cost them a cache line
		r.used.Store(true)
	}
	return r
}

// Add keeps a record if it is not too large to be worth it.
func (c *Cache) Add(r *Entry) {
	s, size := c.shard(r.Name), r.size()
	s.mu.Lock()
	defer s.mu.Unlock()
	if size > s.limit/4 || s.records[r.Name] != nil {
		return
	}
	for s.size+size > s.limit {
		s.evict()
	}
	s.records[r.Name] = r
	s.size += size
}

// evict drops one record, of which there is at least one: any that was not used since the last look at it.
func (s *cacheShard) evict() {
	for {
		for name, r := range s.records {
			if !r.used.Swap(false) {
				delete(s.records, name)
				s.size -= r.size()
				return
			}
		}
	}
}
