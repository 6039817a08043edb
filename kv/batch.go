package kv

import "github.com/graphcleaner/graphcleaner/kv/internal/lsm"

// A batch writes and deletes many records that are in no pack, outside any transaction. One goroutine.
type batch struct {
	s  *Store
	to *lsm.Batch

	records, bytes int64 // written and deleted
}

func newBatch(s *Store) *batch { return &batch{s: s, to: s.db.Batch(s.commits)} }

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

// Flush waits until all is written. The batch is done.
func (b *batch) Flush() error { return b.to.Flush() }

func (b *batch) count(key, value []byte) {
	b.records++
	b.bytes += int64(len(key) + len(value))
}
