package kv

import (
	"bytes"
	"slices"
	"sync"

	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A cursor looks up records of one kind and generation.
type cursor struct {
	prefix  []byte
	lookups *lsm.Lookups
	last    []byte // the key that was read last
}

// cursors are those of one snapshot that nobody is using.
type cursors struct {
	mu   sync.Mutex
	free []*cursor
}

// take returns the cursor that read a key last, if there is one, else any other of its kind and generation; nil if
// there is none.
func (c *cursors) take(previous, key []byte) *cursor {
	c.mu.Lock()
	defer c.mu.Unlock()
	best := -1
	for i, cursor := range c.free {
		if !bytes.HasPrefix(key, cursor.prefix) {
			continue
		}
		best = i
		if bytes.Equal(cursor.last, previous) {
			break
		}
	}
	if best < 0 {
		return nil
	}
	cursor := c.free[best]
	c.free = slices.Delete(c.free, best, best+1)
	return cursor
}

func (c *cursors) giveBack(cursor *cursor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, cursor)
}

func (r txRecords) GetAfter(previous, key []byte, use func(body []byte) error) error {
	tx := r.tx
	if tx.write {
		return r.Get(key, use) // a write would have to close the cursors
	}
	if err := tx.acquire(); err != nil {
		return err
	}
	defer tx.release()
	c := tx.cursors.take(previous, key)
	if c == nil {
		prefix := record.Prefix(record.Kind(key[0]), record.GenerationOf(key))
		c = &cursor{prefix: prefix, lookups: tx.txn.Lookups(prefix)}
	}
	defer tx.cursors.giveBack(c)
	c.last = append(c.last[:0], key...)
	return tx.lookUp(c.lookups, key, use)
}
