package kv

import (
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A batch writes many records outside any transaction a reader could see half of: its keys belong to generations that
// no catalog names yet, or no longer. Ascending keys are fastest. One goroutine.
type batch struct {
	s    *Store
	to   *lsm.Batch
	sums map[record.Generation]record.Sum // of what was put; of a Bulk
}

func newBatch(s *Store) *batch { return &batch{s: s, to: s.db.Batch(s.commits)} }

// Put writes the record of a body. The batch keeps key. The caller may reuse body.
func (b *batch) Put(key, body []byte) error {
	value := record.Encode(key, body)
	b.sums[record.GenerationOf(key)] = b.sums[record.GenerationOf(key)].Add(value)
	return b.write(key, value)
}

// write writes a record, or deletes a key if there is none. The batch keeps both.
func (b *batch) write(key, value []byte) error {
	if value == nil {
		return b.remove(key)
	}
	if err := b.to.Set(key, value); err != nil {
		return err
	}
	b.count(key, value)
	return nil
}

// remove deletes a key, which the batch keeps.
func (b *batch) remove(key []byte) error {
	if err := b.to.Delete(key); err != nil {
		return err
	}
	b.count(key, nil)
	return nil
}

func (b *batch) count(key, value []byte) {
	b.s.tally.bulkRecords.Add(1)
	b.s.tally.bulkBytes.Add(int64(len(key) + len(value)))
}

// Flush waits until all is written, and durable unless the store is being loaded. The batch is done.
func (b *batch) Flush() error { return b.to.Flush() }

// Cancel gives up what is not written; after flush it does nothing.
func (b *batch) Cancel() error {
	b.to.Cancel()
	return nil
}
