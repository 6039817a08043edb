package kv

import (
	"github.com/dgraph-io/badger/v4"
)

// A batch writes many records outside any transaction a reader could see half of: its keys belong to generations that
// no catalog names yet, or no longer. Ascending keys are fastest. One goroutine.
type batch struct {
	wb *badger.WriteBatch
}

func newBatch(db *badger.DB) *batch {
	wb := db.NewWriteBatch()
	// Each pending transaction holds up to 15% of a memtable; one is filled while another is written.
	wb.SetMaxPendingTxns(2)
	return &batch{wb: wb}
}

// put writes the record of a body. The batch keeps key; body is the caller's again.
func (b *batch) put(key, body []byte) error {
	return wrapBadger(b.wb.Set(key, encode(key, body)))
}

// remove deletes a key, which the batch keeps.
func (b *batch) remove(key []byte) error {
	return wrapBadger(b.wb.Delete(key))
}

// flush waits until all is written. The batch is done.
func (b *batch) flush() error { return wrapBadger(b.wb.Flush()) }

// cancel gives up what is not written; after flush it does nothing.
func (b *batch) cancel() { b.wb.Cancel() }
