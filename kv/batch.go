package kv

import (
	"github.com/graphcleaner/graphcleaner/kv/internal/journal"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A batch writes many records outside any transaction a reader could see half of: its keys belong to generations that
// no catalog names yet, or no longer. Ascending keys are fastest. One goroutine.
type batch struct {
	s    *Store
	to   *lsm.Batch
	sums map[record.Generation]record.Sum // of what was put; of a Bulk

	// What the journal is still to be given, with its bytes.
	entries []journal.Entry
	bytes   int
}

func newBatch(s *Store) *batch { return &batch{s: s, to: s.db.Batch(s.commits)} }

// Put writes the record of a body. The batch keeps key. The caller may reuse body.
func (b *batch) Put(key, body []byte) error {
	value := record.Encode(key, body)
	b.sums[record.GenerationOf(key)] = b.sums[record.GenerationOf(key)].Add(value)
	if b.s.journal != nil {
		if b.bytes >= frameBytes {
			if err := b.record(); err != nil {
				return err
			}
			if err := b.rotate(); err != nil {
				return err
			}
		}
		b.entries = append(b.entries, journal.Entry{Key: key, Value: value})
		b.bytes += len(key) + len(value)
	}
	return b.write(key, value)
}

// frameBytes is what the journal is given at once, or little more.
const frameBytes = 256 << 10

// record gives the journal what it is still to be given.
func (b *batch) record() error {
	if len(b.entries) == 0 {
		return nil
	}
	if err := b.s.journal.AppendData(b.entries); err != nil {
		return storedir.WrapFull(err)
	}
	clear(b.entries)
	b.entries, b.bytes = b.entries[:0], 0
	return nil
}

// write writes a record, or deletes a key if there is none, without the journal. The batch keeps both.
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

// rotate is Store.rotateJournal for what the batch has been given, which it has Badger write first. A commit follows, by which to tell
// that all of it is in tables.
func (b *batch) rotate() error {
	if !b.s.journalIsDue() {
		return nil
	}
	if err := b.to.Flush(); err != nil {
		return err
	}
	err := b.s.update(func(tx *Tx) error {
		_, err := tx.count()
		return err
	})
	if err != nil {
		return err
	}
	b.to.Renew(b.s.commits)
	b.s.rotateJournal()
	return nil
}

// Flush waits until all is written. The batch is done.
func (b *batch) Flush() error {
	if err := b.record(); err != nil {
		return err
	}
	return b.to.Flush()
}

// Cancel gives up what is not written; after flush it does nothing.
func (b *batch) Cancel() error {
	b.to.Cancel()
	return nil
}
