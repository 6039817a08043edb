package kv

import (
	"github.com/dgraph-io/badger/v4"

	"github.com/graphcleaner/graphcleaner/kv/internal/journal"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A batch writes many records outside any transaction a reader could see half of: its keys belong to generations that
// no catalog names yet, or no longer. Ascending keys are fastest. One goroutine.
type batch struct {
	s    *Store
	wb   *badger.WriteBatch
	room int64                          // bytes of entries that the disk has room for
	sums map[record.Generation]blockSum // of what was put; of a Bulk

	// What the journal is still to be given, with its bytes.
	entries []journal.Entry
	bytes   int
}

// batchRoom is what a batch asks for at once.
const batchRoom = 1 << 20

func newBatch(s *Store) *batch {
	b := &batch{s: s}
	b.begin()
	return b
}

func (b *batch) begin() {
	b.wb = b.s.db.NewWriteBatch()
	// Each pending transaction holds up to 15% of a memtable; one is filled while another is written.
	b.wb.SetMaxPendingTxns(2)
}

// put writes the record of a body. The batch keeps key; body is the caller's again.
func (b *batch) put(key, body []byte) error {
	value := record.Encode(key, body)
	b.sums[record.GenerationOf(key)] = b.sums[record.GenerationOf(key)].add(value)
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
		return wrapBadger(err)
	}
	clear(b.entries)
	b.entries, b.bytes = b.entries[:0], 0
	return nil
}

// write writes a record, or deletes a key where there is none, without the journal. The batch keeps both.
func (b *batch) write(key, value []byte) error {
	if value == nil {
		return b.remove(key)
	}
	if err := b.makeRoom(key, value); err != nil {
		return err
	}
	return wrapBadger(b.wb.Set(key, value))
}

// remove deletes a key, which the batch keeps.
func (b *batch) remove(key []byte) error {
	if err := b.makeRoom(key, nil); err != nil {
		return err
	}
	return wrapBadger(b.wb.Delete(key))
}

func (b *batch) makeRoom(key, value []byte) error {
	n := entryRoom(key, value)
	if b.room < n {
		if err := b.s.makeRoom(batchRoom + n); err != nil {
			return err
		}
		b.room += batchRoom + n
	}
	b.room -= n
	b.s.tally.bulkRecords.Add(1)
	b.s.tally.bulkBytes.Add(int64(len(key) + len(value)))
	return nil
}

// rotate is Store.rotateJournal for what the batch has been given, which it has Badger write first.
func (b *batch) rotate() error {
	if !b.s.journalIsDue() {
		return nil
	}
	if err := b.wb.Flush(); err != nil {
		return wrapBadger(err)
	}
	b.begin()
	b.s.rotateJournal()
	return nil
}

// flush waits until all is written. The batch is done.
func (b *batch) flush() error {
	if err := b.record(); err != nil {
		return err
	}
	return wrapBadger(b.wb.Flush())
}

// cancel gives up what is not written; after flush it does nothing.
func (b *batch) cancel() error {
	b.wb.Cancel()
	return nil
}
