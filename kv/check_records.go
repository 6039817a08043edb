package kv

import (
	"context"
	"math/bits"

	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A recordScan is what a pass over all records has found. It leaves out those of generations that the catalogue names
// no more.
type recordScan struct {
	counts  map[record.Kind]int64 // of sound records, of the graph's generation or of none
	entries int64                 // ids in the lookup buckets of the graph
	removed int                   // nodes in its blocks of removed ones
	added   uint32                // one more than the greatest node that was added to it

	changed map[record.Generation]uint32 // one more than the greatest node of which a column or a matrix has a change
	damaged map[record.Generation]bool   // some of its records cannot be read
	last    record.Generation            // the greatest of any record
}

// scan reads every record by itself, and calls damaged for each that cannot be read or has a key that no record has.
func (tx *Tx) scan(ctx context.Context, progress Progress, damaged func(key []byte, damage error) error) (*recordScan, error) {
	s := &recordScan{
		counts: map[record.Kind]int64{}, changed: map[record.Generation]uint32{}, damaged: map[record.Generation]bool{},
	}
	isDead, done := tx.cat.dead(), 0
	err := eachRecord(ctx, tx.txn, nil, func(r record.Record, damage error) error {
		if done++; done%contextEvery == 0 {
			if err := tx.Err(); err != nil { // who closes the store waits for this
				return err
			}
			progress("records", int64(done), 0)
		}
		if !record.IsKnown(r.Key) {
			return damaged(r.Key, record.Corrupt(r.Key, "no record has this key"))
		}
		k, g := record.Kind(r.Key[0]), record.Generation(0)
		if k >= record.FirstGenerational {
			g = record.GenerationOf(r.Key)
			s.last = max(s.last, g)
		}
		if isDead(r.Key) {
			return nil
		}
		if v, ok := record.NumberOf(r.Key, 0); ok && k == record.KindAddedNode {
			s.added = max(s.added, v+1)
		} else if ok && (k == record.KindColumnDelta || k == record.KindRowDelta) {
			s.changed[g] = max(s.changed[g], v+1)
		}
		if damage != nil {
			s.damaged[g] = true
			return damaged(r.Key, damage)
		}
		if k >= record.FirstGenerational && g != tx.cat.Graph {
			return nil
		}
		s.counts[k]++
		switch k {
		case record.KindIDLookup:
			s.entries += int64(len(r.Body) / dict.BucketEntry)
		case record.KindRemoved:
			for _, b := range r.Body {
				s.removed += bits.OnesCount8(b)
			}
		}
		return nil
	})
	return s, err
}

// eachRecord calls use with every record whose key begins with prefix, borrowed, and with what is wrong with it.
func eachRecord(ctx context.Context, txn *lsm.Txn, prefix []byte, use func(r record.Record, damage error) error) error {
	it := txn.Iterator(prefix, false)
	defer it.Close()
	err := it.Seek(prefix)
	for done := 1; err == nil && it.Valid(); done++ {
		if done%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r := record.Record{Key: it.Key()}
		value, damage := it.Value()
		if damage == nil {
			r.Body, damage = record.Decode(r.Key, value)
		} else {
			damage = record.Corrupt(r.Key, damage.Error())
		}
		if err := use(r, damage); err != nil {
			return err
		}
		err = it.Next()
	}
	return err
}

// records checks every record by itself: kind, generation, version and checksum.
func (c *checker) records(ctx context.Context) (err error) {
	damaged := func(key []byte, damage error) error { return c.found(record.Describe(key), damage) }
	c.scan, err = c.tx.scan(ctx, c.progress, damaged)
	if err == nil && c.scan.last >= c.tx.cat.Next {
		c.problem("catalogue", "%v", laterCatalogLost(c.tx.cat.Next, c.scan.last))
	}
	return err
}

// count checks how many records of a kind the graph has.
func (c *checker) count(k record.Kind, want int) {
	if got := c.scan.counts[k]; got != int64(want) {
		c.problem(k.String()+"s", "there are %d, want %d", got, want)
	}
}
