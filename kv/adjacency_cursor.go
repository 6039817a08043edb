package kv

import (
	"bytes"
	"slices"
	"sync"

	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// An adjacencyCursor reads adjacency records one after the other through one iterator, whose memory it reuses: a fetch
// by key would copy every block into new memory, three times over.
type adjacencyCursor struct {
	kind record.Kind // KindAdjacency or KindArcs
	it   *lsm.Iterator

	// The record behind the one last read, which costs no search.
	nextBlock int
	nextPart  uint32
}

// cursors are those of one snapshot that nobody is using.
type cursors struct {
	mu   sync.Mutex
	free []*adjacencyCursor
}

// take returns the cursor of a kind that stands before a part, where there is one, else any other of the kind.
func (c *cursors) take(k record.Kind, block int, part uint32) *adjacencyCursor {
	c.mu.Lock()
	defer c.mu.Unlock()
	best := -1
	for i, cursor := range c.free {
		if cursor.kind != k {
			continue
		}
		best = i
		if cursor.nextBlock == block && cursor.nextPart == part {
			break
		}
	}
	if best < 0 {
		return &adjacencyCursor{kind: k, nextBlock: -1}
	}
	cursor := c.free[best]
	c.free = slices.Delete(c.free, best, best+1)
	return cursor
}

func (c *cursors) giveBack(cursor *adjacencyCursor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, cursor)
}

// close closes the cursors of a snapshot that ends, in which no read is under way.
func (c *cursors) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cursor := range c.free {
		if cursor.it != nil {
			cursor.it.Close()
		}
	}
	c.free = nil
}

// readPart hands the body of one part of block b, which is stored under key, to use; it is borrowed.
func (tx *Tx) readPart(d *directory, b int, part uint32, key []byte, use func(body []byte) error) error {
	if tx.write {
		return tx.need(key, use) // Badger allows an Update one open iterator
	}
	if err := tx.acquire(); err != nil {
		return err
	}
	defer tx.release()
	k := record.Kind(key[0])
	c := tx.cursors.take(k, b, part)
	defer tx.cursors.giveBack(c)
	if c.it == nil {
		c.it = tx.txn.Iterator(record.Prefix(k, d.generation), false)
	}
	follows := b == c.nextBlock && part == c.nextPart
	c.nextBlock = -1
	var err error
	if follows {
		err = c.it.Next()
	} else {
		err = c.it.Seek(key)
	}
	if err != nil {
		return err
	}
	r, ok, err := c.it.Record()
	if err != nil {
		return err
	}
	if !ok || !bytes.Equal(r.Key, key) {
		return record.Corrupt(key, "the record is missing")
	}
	c.nextBlock, c.nextPart = b, part+1
	if c.nextPart == d.parts[b] {
		c.nextBlock, c.nextPart = b+1, 0
	}
	return use(r.Body)
}
