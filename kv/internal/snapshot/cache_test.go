package snapshot

import (
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestCache keeps random records and expects what it finds to be what was kept, within the budget.
func TestCache(t *testing.T) {
	const budget = 1 << 20
	c := NewCache(budget)
	r := rand.New(rand.NewPCG(1, 0))
	body := func(block uint32) []byte {
		b := make([]byte, 16+int(block%7)*100)
		b[0], b[1] = byte(block), byte(block>>8)
		return b
	}
	hits, hot := 0, 0
	for range 20_000 {
		block := r.Uint32N(2000)
		if r.IntN(2) == 0 {
			block %= 20 // asked for all the time
		}
		name := Name{Kind: record.KindColumn, Generation: 3, A: block}
		kept := c.Get(name)
		if kept == nil {
			c.Add(&Entry{Name: name, Body: body(block)})
			continue
		}
		hits++
		if block < 20 {
			hot++
		}
		if kept.Name != name || kept.Body[0] != byte(block) || kept.Body[1] != byte(block>>8) {
			t.Fatalf("block %d: got the record of %v", block, kept.Name)
		}
	}
	if hot < 8000 {
		t.Errorf("the blocks asked for all the time: got %d hits of some 10000, want most", hot)
	}
	if hits == 20_000 {
		t.Error("got hits only, want some records to have been dropped")
	}
	total := int64(0)
	for i := range c.shards {
		s := &c.shards[i]
		sum := int64(0)
		for _, kept := range s.records {
			sum += kept.size()
		}
		if sum != s.size {
			t.Errorf("shard %d: got %d bytes, counted %d", i, sum, s.size)
		}
		total += sum
	}
	if total > budget>>cacheShareLog2 {
		t.Errorf("got %d bytes, want at most %d", total, budget>>cacheShareLog2)
	}
}

func TestCacheRefusesLargeRecords(t *testing.T) {
	c := NewCache(0)
	name := Name{Kind: record.KindAdjacency, Generation: 1}
	c.Add(&Entry{Name: name, Body: []byte{1}})
	if c.Get(name) != nil {
		t.Error("got a record from a cache of no bytes, want none")
	}
}
