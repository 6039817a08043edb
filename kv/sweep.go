package kv

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// sweep deletes every record of a generation that the catalogue does not name: what a crash or an abort left of a bulk
// write, and what a commit replaced. The caller holds the writer's lock. Open snapshots go on seeing what they saw.
func (s *Store) sweep() (err error) {
	t, began := &s.tally, time.Now()
	records, size := t.bulkRecords.Load(), t.bulkBytes.Load()
	defer func() {
		if removed := t.bulkRecords.Load() - records; removed > 0 || err != nil {
			s.observe(Event{Kind: EventSweep, Records: removed, Bytes: t.bulkBytes.Load() - size, Err: err}, began)
		}
	}()
	return s.View(func(tx *Tx) error {
		live := tx.cat.live()
		b := newBatch(s)
		defer b.wb.Cancel()
		// A panic of Badger's is damage: see guard.
		err := guard(generationPrefix(firstGenerational, 0), func() error { return removeDead(tx, live, b.remove) })
		if err != nil {
			return err
		}
		return b.flush()
	})
}

// removeDead hands the key of every record of a generation that is not live to remove.
func removeDead(tx *Tx, live map[generation]bool, remove func(key []byte) error) error {
	it := tx.txn.NewIterator(badger.IteratorOptions{})
	defer it.Close()
	for it.Seek([]byte{byte(firstGenerational)}); it.Valid(); {
		key := it.Item().Key()
		if kind(key[0]) >= endGenerational {
			break
		}
		if len(key) < 5 {
			return corrupt(key, "the key is too short")
		}
		g := generation(binary.BigEndian.Uint32(key[1:]))
		if live[g] {
			it.Seek(generationPrefix(kind(key[0]), g+1))
			continue
		}
		if err := remove(bytes.Clone(key)); err != nil {
			return err
		}
		it.Next()
	}
	return nil
}
