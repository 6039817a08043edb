package kv

import (
	"bytes"
	"encoding/binary"

	"github.com/dgraph-io/badger/v4"
)

// sweep deletes every record of a generation that the catalogue does not name: what a crash or an abort left of a bulk
// write, and what a commit replaced. The caller holds the writer's lock. Open snapshots go on seeing what they saw.
func (s *Store) sweep() error {
	return s.View(func(tx *Tx) error {
		live := tx.cat.live()
		b := newBatch(s)
		defer b.wb.Cancel()
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
			if err := b.remove(bytes.Clone(key)); err != nil {
				return err
			}
			it.Next()
		}
		return b.flush()
	})
}
