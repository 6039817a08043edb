package kv

import (
	"github.com/dgraph-io/badger/v4"
)

// A batch writes many records outside any transaction a reader could see half of: its keys belong to generations that
// no catalog names yet, or no longer. Ascending keys are fastest. One goroutine.
type batch struct {
	s    *Store
	wb   *badger.WriteBatch
	room int64 // bytes of entries that the disk has room for
}

// batchRoom is what a batch asks for at once.
const batchRoom = 1 << 20

func newBatch(s *Store) *batch {
	wb := s.db.NewWriteBatch()
	// Each pending transaction holds up to 15% of a memtable; one is filled while another is written.
	wb.SetMaxPendingTxns(2)
	return &batch{s: s, wb: wb}
}

// put writes the record of a body. The batch keeps key; body is the caller's again.
func (b *batch) put(key, body []byte) error {
	value := encode(key, body)
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

// flush waits until all is written. The batch is done.
func (b *batch) flush() error { return wrapBadger(b.wb.Flush()) }

// cancel gives up what is not written; after flush it does nothing.
func (b *batch) cancel() error {
	b.wb.Cancel()
	return nil
}
