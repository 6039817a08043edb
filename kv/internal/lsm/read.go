package lsm

import (
	"bytes"
	"errors"
	"iter"

	"github.com/dgraph-io/badger/v4"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Where a record is looked for depends on its key:
//
//   - One of a block is in a pack alone.
//   - One of another kind, of a generation that has packs of that kind, is in Badger or in a pack. What Badger has of
//     it is newer. Of one that was deleted, Badger has a record.Deletion.
//   - All others are in Badger alone.

// Get returns the value under a key, which is the caller's to keep and not to change, and the version of the commit
// that wrote it; record.ErrNotFound if there is none.
func (t *Txn) Get(key []byte) (value []byte, version uint64, err error) {
	err = guard(key, func() error {
		value, version, err = t.find(key)
		return err
	})
	return value, version, wrapBadger(err)
}

func (t *Txn) find(key []byte) (value []byte, version uint64, err error) {
	if t.txn != nil && !record.Kind(key[0]).IsBlock() {
		item, err := t.txn.Get(key)
		if err == nil {
			if value, err = item.ValueCopy(nil); record.IsDeletion(key, value) {
				return nil, 0, record.ErrNotFound
			}
			return value, item.Version(), err
		}
		if !errors.Is(err, badger.ErrKeyNotFound) {
			return nil, 0, err
		}
	}
	value, version, err = t.packs.of(key).Cursors().Get(key)
	return bytes.Clone(value), version, err
}

// WillRead says under which keys records of packs are read soon. The system is asked for them at once, so that the
// disk finds them side by side. What goes wrong is told by the reads themselves.
func (t *Txn) WillRead(keys iter.Seq[[]byte]) {
	cursors := t.packs.all.Cursors()
	if len(cursors) == 0 {
		return
	}
	guard(nil, func() error { //nolint:errcheck // see above
		cursors[len(cursors)-1].WillRead(keys)
		return nil
	})
}
